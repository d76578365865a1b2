"""The operator on the local cluster: build its image, load it, install it with Helm.

`python -m localcluster.deploy install` is what `make deploy` does. On a cluster of the
user's own (`CLUSTER=current`) images are not loaded: the chart's own values say which.
"""

import os
import subprocess
import sys
from collections.abc import Sequence

from localcluster import choose, errors, progress, shell

RELEASE = "trainingjob-operator"
NAMESPACE = "trainingjob-system"
CHART = f"charts/{RELEASE}"
WAIT = "180s"


def install() -> None:
    """Install or upgrade the operator, and wait until it is ready."""
    ours = choose.standing().kind != "current"
    chosen = image_values() if ours else []
    if ours:
        shell.answer("kubectl", "apply", "-f", "localcluster/namespace.yaml")
        # a machine of two cores has better uses for a standby, unless it is told so
        chosen += ["--set", f"replicaCount={os.environ.get('REPLICAS') or 1}"]
    progress.say(f"installing {RELEASE} with Helm")
    arguments = ["--namespace", NAMESPACE, "--create-namespace", "--wait", "--timeout", WAIT]
    # the definition may be there already, by `kubectl apply -f crds/` for `make run`
    adopt = "--take-ownership"
    shell.answer("helm", "upgrade", "--install", RELEASE, CHART, adopt, *arguments, *chosen)
    progress.say(f"{RELEASE} is ready in namespace {NAMESPACE}")


def uninstall() -> None:
    """Remove the operator; the resource definition and all jobs stay."""
    shell.call("helm", "uninstall", RELEASE, "--namespace", NAMESPACE, "--wait")


def image_values() -> list[str]:
    """Helm's arguments that name the operator's image, after all images are loaded."""
    repository, _, tag = load_images()["operator"].rpartition(":")
    return ["--set", f"image.repository={repository}", "--set-string", f"image.tag={tag}"]


def load_images() -> dict[str, str]:
    """Build what changed and load it into every node; image references by name.

    Raises:
        ClusterError: when a build or a load fails; its own output has said why.
    """
    argv = [sys.executable, "-m", "localcluster.images", "load"]
    done = subprocess.run(argv, cwd=shell.ROOT, check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise errors.ClusterError("the images could not be built or loaded; why is said above")
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: line[1] for line in lines if len(line) == 3}  # noqa: PLR2004  name, reference, archive


COMMANDS = {"install": install, "uninstall": uninstall}


def main(arguments: Sequence[str]) -> int:
    """Carry out one command; 1 with a message when it cannot be done, 2 for an unknown one."""
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        progress.say(f"usage: python -m localcluster.deploy {'|'.join(COMMANDS)}")
        return 2
    return progress.told(COMMANDS[arguments[0]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
