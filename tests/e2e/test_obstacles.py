"""What keeps a job from running is said on the job itself, in the cluster's own words."""

import re

import pytest

from e2e import jobs
from e2e.harness import Manifest, Namespace

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def _with(template: Manifest, **spec: object) -> Manifest:
    return {"spec": {**template["spec"], **spec}}


def test_no_node_fits(lab: Namespace) -> None:
    template = _with(jobs.a_template(), nodeSelector={"example.com/nowhere": "true"})
    lab.apply(jobs.a_job("nowhere", 2, template))
    status = lab.wait_for(
        "nowhere", lambda status: "node affinity/selector" in status.get("message", "")
    )
    assert status["phase"] == "Pending"
    assert status["ready"] == "0/2"
    assert "cannot be scheduled" in status["message"]


def test_the_image_cannot_be_had(lab: Namespace) -> None:
    image = "registry.invalid/no/such:image"
    lab.apply(jobs.a_job("image", 2, jobs.a_template(image=image)))
    status = lab.wait_for("image", lambda status: image in status.get("message", ""))
    assert status["phase"] == "Starting"
    assert re.match(r"rank [01] \(image-", status["message"]), "the first to be refused is named"
    reasons = {item["type"]: item["reason"] for item in status["conditions"]}
    assert reasons["Running"] == "ImagePullFailed"


def test_the_template_makes_no_pod(lab: Namespace) -> None:
    template = jobs.a_template()
    template["spec"]["containers"][0]["volumeMounts"] = [{"name": "lost", "mountPath": "/lost"}]
    lab.apply(jobs.a_job("typo", 2, template))
    status = lab.wait_for_end("typo")
    assert status["phase"] == "Failed"
    assert "volumeMounts[0].name" in status["message"]
    assert not lab.objects("pods", "typo")


def test_quota_for_a_part_of_the_group(lab: Namespace) -> None:
    lab.apply(jobs.a_quota(2))
    lab.apply(jobs.a_job("quota", 3))
    status = lab.wait_for("quota", lambda status: "quota" in status.get("message", ""))
    assert "2 of 3" in status["message"]
    lab.apply(jobs.a_quota(3))
    assert lab.wait_for_end("quota")["phase"] == "Succeeded"


def test_the_namespace_forbids_such_pods(lab: Namespace) -> None:
    template = _with(jobs.a_template(), securityContext={})
    lab.apply(jobs.a_job("unsafe", 1, template))
    status = lab.wait_for("unsafe", lambda status: "PodSecurity" in status.get("message", ""))
    assert "runAsNonRoot" in status["message"]
    assert not lab.objects("pods", "unsafe")
