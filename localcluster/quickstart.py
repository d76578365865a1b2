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
  kubectl describe {job}     # conditions, attempts, events
  kubectl logs ddp-worker-0              # any rank's log
  kubectl delete {job} && kubectl apply -f {example}
  kubectl delete pod ddp-worker-0        # while it trains: the group starts again, as one
  make cluster-down                         # when you are done"""


def main() -> int:
    """Run the main job; 0 when it succeeded."""
    began = time.monotonic()
    try:
        succeeded = _train()
    except errors.ClusterError as problem:
        progress.say(f"error: {problem}")
        return 1
    spent = progress.lasting(time.monotonic() - began)
    print(f"\n{'succeeded' if succeeded else 'FAILED'} after {spent}, from nothing to the end\n")
    print(
        NEXT.format(
            kubeconfig=shell.kubeconfig(), programs=binaries.folder(), job=JOB, example=EXAMPLE
        )
    )
    return 0 if succeeded else 1


def _train() -> bool:
    progress.say("[1/4] a local Kubernetes")
    choice = choose.wanted()
    progress.say(f"cluster: {choice.kind} ({choice.reason})")
    choice.cluster().up(choose.nodes("1"))
    progress.say("[2/4] the operator and its images")
    deploy.install()
    progress.say(f"[3/4] kubectl apply -f {EXAMPLE}")
    shell.answer("kubectl", "delete", "--filename", EXAMPLE, "--ignore-not-found", "--wait")
    shell.call("kubectl", "apply", "--filename", EXAMPLE)
    progress.say("[4/4] kubectl get trainingjobs --watch")
    _follow()
    print()
    shell.call("kubectl", "get", "pods,services", "-l", _selector())
    shell.call("kubectl", "get", "trainingjobs")
    shell.call("kubectl", "logs", "ddp-master", f"--tail={LOG_LINES}")
    return _phase() == "Succeeded"


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


def _phase() -> str:
    return shell.answer("kubectl", "get", JOB, "--output", "jsonpath={.status.phase}")


if __name__ == "__main__":
    sys.exit(main())
