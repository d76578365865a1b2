"""The command line: `python -m localcluster up`.

Standard output carries the answer alone, and `up` ends with the kubeconfig's
path, so that a script can write `KUBECONFIG=$(python -m localcluster up | tail -1)`.
"""

import argparse
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Final

from localcluster import assets, binaries, choose, errors, packages, progress


def _up(options: argparse.Namespace) -> None:
    del options
    choice = choose.wanted()
    print(f"cluster: {choice.kind} ({choice.reason})", flush=True)
    print(choice.cluster().up(choose.nodes(os.environ.get("NODES") or "1")))


def _down(options: argparse.Namespace) -> None:
    choose.standing().cluster().down(purge=options.purge)


def _status(options: argparse.Namespace) -> None:
    del options
    print(choose.standing().cluster().status())


def _kubeconfig(options: argparse.Namespace) -> None:
    del options
    path = choose.standing().cluster().kubeconfig()
    if path is None:
        raise errors.ClusterError("no local cluster is up; start it: python -m localcluster up")
    print(path)


def _load(options: argparse.Namespace) -> None:
    cluster = choose.standing().cluster()
    if cluster.kubeconfig() is None:
        raise errors.ClusterError("no local cluster is up; start it: python -m localcluster up")
    cluster.load(options.archives)


def _binaries(options: argparse.Namespace) -> None:
    print(binaries.ensure(options.names))


def _assets(options: argparse.Namespace) -> None:
    print(assets.folder(options.minor))


COMMANDS: Final[dict[str, tuple[Callable[[argparse.Namespace], None], str]]] = {
    "up": (_up, "bring the cluster up; NODES=1 or 2, GANG=1, CLUSTER=embedded, kind or current"),
    "down": (_down, "take it down and leave nothing behind"),
    "status": (_status, "what runs"),
    "kubeconfig": (_kubeconfig, "print the kubeconfig's path"),
    "load": (_load, "import image archives into every node"),
    "binaries": (_binaries, "build programs and print their folder"),
    "assets": (_assets, "print the folder with kube-apiserver, etcd and kubectl"),
}


def main(arguments: Sequence[str]) -> int:
    """Carry out one command; 1 with a message when it cannot be done."""
    options = _parser().parse_args(arguments)
    command, _ = COMMANDS[options.command]
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{packages.SYSTEM_PATH}"
    return progress.told(lambda: command(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m localcluster", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    made = {name: commands.add_parser(name, help=text) for name, (_, text) in COMMANDS.items()}
    made["down"].add_argument("--purge", action="store_true", help="forget images and logs too")
    made["load"].add_argument("archives", nargs="+", type=pathlib.Path, metavar="TAR")
    made["assets"].add_argument("minor", nargs="?", default="", metavar="MINOR")
    made["binaries"].add_argument("names", nargs="*", metavar="NAME")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
