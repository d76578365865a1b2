"""An image out of a few files, without an image builder.

The pause image is one program. Packing it as an OCI archive takes a page of
Python, and needs neither a builder nor a registry.
"""

import gzip
import hashlib
import io
import json
import pathlib
import platform
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any, Final

MEDIA: Final = "application/vnd.oci.image"
MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def write(
    target: pathlib.Path, reference: str, files: Mapping[str, bytes], command: Sequence[str]
) -> None:
    """Write an OCI archive of an image that holds these programs and runs that command."""
    layer = _layer(files)
    config = _config(layer, command)
    blobs = {_digest(blob): blob for blob in (gzip.compress(layer, mtime=0), config)}
    packed, described = blobs
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{MEDIA}.manifest.v1+json",
            "config": _descriptor(f"{MEDIA}.config.v1+json", described, blobs),
            "layers": [_descriptor(f"{MEDIA}.layer.v1.tar+gzip", packed, blobs)],
        }
    ).encode()
    blobs[_digest(manifest)] = manifest
    target.write_bytes(_tar(_layout(reference, _digest(manifest), blobs)))


def machine() -> str:
    """What images call the processor of this machine."""
    return MACHINES.get(platform.machine(), platform.machine())


def _layout(reference: str, manifest: str, blobs: Mapping[str, bytes]) -> dict[str, bytes]:
    entry = _descriptor(f"{MEDIA}.manifest.v1+json", manifest, blobs)
    entry["annotations"] = {"io.containerd.image.name": reference}
    index = {"schemaVersion": 2, "manifests": [entry]}
    return {
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
        "index.json": json.dumps(index).encode(),
        **{f"blobs/sha256/{digest}": blob for digest, blob in blobs.items()},
    }


def _config(layer: bytes, command: Sequence[str]) -> bytes:
    document = {
        "architecture": machine(),
        "os": "linux",
        "config": {"Entrypoint": list(command), "Env": ["PATH=/bin:/usr/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_digest(layer)}"]},
    }
    return json.dumps(document).encode()


def _descriptor(media: str, digest: str, blobs: Mapping[str, bytes]) -> dict[str, Any]:
    return {"mediaType": media, "digest": f"sha256:{digest}", "size": len(blobs[digest])}


def _layer(files: Mapping[str, bytes]) -> bytes:
    return _tar(files, mode=0o755)


def _tar(files: Mapping[str, bytes], mode: int = 0o644) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def _digest(blob: bytes) -> str:
    return hashlib.sha256(blob).hexdigest()
