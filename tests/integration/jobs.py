"""TrainingJobs as a client sends them, and what the API server says to each."""

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kubernetes import client

from integration.server import ApiServer

Body = dict[str, Any]
MISSING = object()
"""A value for `changed` that takes the field away."""

_WHERE = ("trainingjob.dev", "v1", "default", "trainingjobs")


def a_job(name: str = "job", **spec: Any) -> Body:
    """The smallest job, with more in its spec where a test needs it."""
    return {
        "apiVersion": "trainingjob.dev/v1",
        "kind": "TrainingJob",
        "metadata": {"name": name},
        "spec": {"PARALLEL_INSTANCES": 3, "template": a_template(), **spec},
    }


def a_template(**container: Any) -> Body:
    """A pod template with one container."""
    trainer = {"name": "trainer", "image": "my/trainer:1", **container}
    return {"spec": {"containers": [trainer]}}


def changed(body: Body, path: str, value: Any) -> Body:
    """A copy in which the field at a path like `spec.template.spec.containers.0` is another."""
    copied = copy.deepcopy(body)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    holder: Any = copied
    for part in parents:
        holder = holder[part] if isinstance(part, int) else holder.setdefault(part, {})
    if value is MISSING:
        del holder[last]
    else:
        holder[last] = value
    return copied


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the object, or the reason why not."""

    status: int
    body: Body

    @property
    def accepted(self) -> bool:
        """True when the server took the object."""
        return self.status < 300

    @property
    def message(self) -> str:
        """Why it did not."""
        return str(self.body.get("message", ""))


class Jobs:
    """The jobs of one namespace on the private server; strict about unknown fields."""

    def __init__(self, server: ApiServer) -> None:
        configuration = client.Configuration(host=server.url)
        configuration.ssl_ca_cert = str(server.ca)
        configuration.api_key = {"authorization": f"Bearer {server.token}"}
        self._client = client.ApiClient(configuration)
        self._api = client.CustomObjectsApi(self._client)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def try_create(self, body: Body) -> Answer:
        """What would come of it; nothing is stored."""
        return self._strict(self._api.create_namespaced_custom_object, body, dry_run="All")

    def create(self, body: Body) -> Body:
        """The stored job."""
        answer = self._strict(self._api.create_namespaced_custom_object, body)
        assert answer.accepted, answer.message
        return answer.body

    def try_replace(self, body: Body) -> Answer:
        """What would come of an update; nothing is stored."""
        name = body["metadata"]["name"]
        return self._strict(self._api.replace_namespaced_custom_object, name, body, dry_run="All")

    def write_status(self, body: Body, status: Body) -> Answer:
        """Store a status, as the operator does."""
        name = body["metadata"]["name"]
        write = self._api.patch_namespaced_custom_object_status
        return _answer(lambda: write(*_WHERE, name, {"status": status}))

    def read(self, name: str) -> Body:
        """The job as the server shows it."""
        return dict(self._api.get_namespaced_custom_object(*_WHERE, name))

    def delete(self, name: str) -> None:
        """Take the job away."""
        self._api.delete_namespaced_custom_object(*_WHERE, name)

    def _strict(self, call: Callable[..., Body], *args: Any, **options: str) -> Answer:
        return _answer(lambda: call(*_WHERE, *args, field_validation="Strict", **options))


def _answer(call: Callable[[], Body]) -> Answer:
    try:
        return Answer(200, call())
    except client.ApiException as error:
        return Answer(error.status, json.loads(error.body))
