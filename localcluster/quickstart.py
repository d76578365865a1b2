"""From nothing to a trained model: the README's first command.

It does what a user does on a cluster of their own: bring the cluster
up, install the operator, apply a job, watch it, read its log.
"""

import subprocess
import sys
import time

from localcluster import binaries, choose, deploy, errors, progress, shell

EXAMPLE = "examples/01-ddp/job.yaml"
JOB = "trainingjob/ddp"
LIMIT = "900s"
LOG_LINES = 5

NEXT = """\
Next, on this cluster:
  export KUBECONFIG={kubeconfig} PATH={programs}:$PATH
  kubectl get trainingjobs                  # what runs
  kubectl describe {job}           # conditions, attempts, events
  kubectl logs ddp-worker-0              # any rank's log
  kubectl delete {job} && kubectl apply -f {example}
  kubectl delete pod ddp-worker-0        # while it trains: the group starts again, as one
  make cluster-down                         # when you are done"""


def main() -> int:
    """Run the main job; 0 when it succeeded."""
    return progress.told(_run)


def _run() -> None:
    began = time.monotonic()
    _train()
    phase = shell.answer("kubectl", "get", JOB, "--output", "jsonpath={.status.phase}")
    if phase != "Succeeded":
        raise errors.ClusterError(f"the job ended as {phase}: kubectl describe {JOB} says why")
    spent = progress.lasting(time.monotonic() - began)
    where = {"kubeconfig": shell.kubeconfig(), "programs": binaries.folder()}
    print(f"\nsucceeded after {spent} in all\n\n{NEXT.format(job=JOB, example=EXAMPLE, **where)}")


def _train() -> None:
    progress.say("[1/4] a local Kubernetes")
    choice = choose.wanted()
    progress.say(f"cluster: {choice.kind} ({choice.reason})")
    choice.cluster().up(choose.nodes("1"))
    progress.say("[2/4] the operator and its images")
    deploy.install()
    progress.say(f"[3/4] kubectl apply -f {EXAMPLE}")
    progress.say("(a job of an earlier run is replaced)")
    shell.answer("kubectl", "delete", "--filename", EXAMPLE, "--ignore-not-found", "--wait")
    shell.call("kubectl", "apply", "--filename", EXAMPLE)
    progress.say("[4/4] kubectl get trainingjobs --watch")
    _follow()
    print()
    shell.call("kubectl", "get", "pods,services", "-l", _selector())
    shell.call("kubectl", "get", "trainingjobs")
    shell.call("kubectl", "logs", "ddp-master", f"--tail={LOG_LINES}")


def _follow() -> None:
    """Show the job's rows as they change, until it has finished either way."""
    watch = ["kubectl", "get", JOB, "--watch"]
    with subprocess.Popen(watch, env=shell.environment()) as rows:
        try:
            shell.answer("kubectl", "wait", "--for=condition=Finished", JOB, f"--timeout={LIMIT}")
        finally:
            rows.terminate()


def _selector() -> str:
    return f"app.kubernetes.io/instance={JOB.partition('/')[2]}"


if __name__ == "__main__":
    sys.exit(main())
