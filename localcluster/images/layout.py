"""From buildah's folder of blobs to one archive that a cluster imports.

buildah writes only the blobs that its folder lacks, so a changed example or a
changed line of the operator costs one small layer. The archive carries the
image under two names, its content tag and the alias, at no extra size.
"""

import io
import json
import pathlib
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

NAME: Final = "io.containerd.image.name"
HEAD: Final = b'{"imageLayoutVersion":"1.0.0"}'


def pack(folder: pathlib.Path, references: Sequence[str], target: pathlib.Path) -> None:
    """Write the newest image of an OCI folder as an archive under these names."""
    entry = newest(json.loads((folder / "index.json").read_text()))
    with tarfile.open(target, "w") as archive:
        _add(archive, "oci-layout", HEAD)
        _add(archive, "index.json", json.dumps(index(entry, references)).encode())
        for blob in dict.fromkeys(blobs(folder, entry)):
            archive.add(blob, str(blob.relative_to(folder)), filter=_plain)


def names(archive: pathlib.Path) -> dict[str, str]:
    """The names in an archive and the digest each stands for; none where there is no index.

    It reads the head of the archive alone, so that a loader can ask a node first.
    """
    with tarfile.open(archive) as members:
        found = next((one for one in members if one.name == "index.json"), None)
        file = members.extractfile(found) if found else None
        entries = json.load(file)["manifests"] if file else []
    named = [one for one in entries if NAME in one.get("annotations", {})]
    return {one["annotations"][NAME]: one["digest"] for one in named}


def forget(folder: pathlib.Path) -> None:
    """Delete what the newest image of an OCI folder does not need."""
    document = json.loads((folder / "index.json").read_text())
    entry = newest(document)
    needed = set(blobs(folder, entry))
    (folder / "index.json").write_text(json.dumps({**document, "manifests": [entry]}))
    for blob in (folder / "blobs" / "sha256").iterdir():
        if blob not in needed:
            blob.unlink()


def newest(document: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of the image that was written last."""
    entry: dict[str, Any] = document["manifests"][-1]
    return entry


def index(entry: Mapping[str, Any], references: Sequence[str]) -> dict[str, Any]:
    """An index that gives one image several names."""
    named = [{**entry, "annotations": {NAME: reference}} for reference in references]
    return {"schemaVersion": 2, "manifests": named}


def blobs(folder: pathlib.Path, entry: Mapping[str, Any]) -> Iterator[pathlib.Path]:
    """Every file that an image consists of: its manifest, its configuration, its layers."""
    manifest = _blob(folder, entry)
    document = json.loads(manifest.read_text())
    yield manifest
    yield _blob(folder, document["config"])
    yield from (_blob(folder, layer) for layer in document["layers"])


def _blob(folder: pathlib.Path, descriptor: Mapping[str, Any]) -> pathlib.Path:
    digest: str = descriptor["digest"]
    return folder / "blobs" / digest.replace(":", "/")


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member
