"""What the API server answers to a create, as memory takes it in."""

from typing import Any

from trainingjobs.cluster.shelf import version_of

Manifest = dict[str, Any]


def kind(manifest: Manifest) -> Manifest:
    """What an object is; not every answer says so."""
    return {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}


def known(sent: Manifest, made: Manifest) -> Manifest:
    """What was made: where only its metadata came back, as it was sent.

    That counts as a moment older than it is, so that what a watch tells of the same version is
    news: webhooks and the API server may have put more into it, a gate that keeps it waiting too.
    """
    if "spec" in made:
        return made | kind(sent)
    version = version_of(made)
    before = str(int(version) - 1) if version.isdigit() else ""
    return {**sent, "metadata": {**made["metadata"], "resourceVersion": before}}
