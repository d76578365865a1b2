"""Which images there are, as data.

What differs between the images is a few lists; the way from these lists to an
archive is the same, and lies in the other modules.
"""

import dataclasses
import pathlib
from collections.abc import Mapping
from typing import Final

ROOT: Final = pathlib.Path(__file__).parents[2]
ALIAS: Final = "dev"
"""A second tag that always means the newest build."""

DOCUMENTATION: Final = ("doc", "man", "info", "locale", "lintian")
TORCH: Final = "/usr/lib/python3/dist-packages/torch"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image: what is copied into it, and what its base is made of without a registry."""

    name: str
    inputs: tuple[str, ...]
    """Files and folders, from the checkout's root, that the build reads."""
    skipped: tuple[str, ...] = ()
    """Endings of files in these folders that the image does not hold."""
    packages: tuple[str, ...]
    """Debian packages of the base."""
    left_out: tuple[str, ...] = ()
    """Paths of these packages, as dpkg's patterns, that no program here opens."""
    kept: tuple[str, ...] = ()
    """Exceptions to `left_out`."""
    shared: str = ""
    """The name of a base that several images start from; without one an image has its own."""

    @property
    def repository(self) -> str:
        """The image's name without a tag."""
        return f"localhost/trainingjob-{self.name}"

    @property
    def base(self) -> str:
        """The base's name without a tag."""
        return f"localhost/trainingjob-base-{self.shared or self.name}"

    @property
    def dockerfile(self) -> str:
        """Where its Dockerfile lies, from the checkout's root."""
        return f"images/{self.name}/Dockerfile"

    def reference(self, tag: str = ALIAS) -> str:
        """The image's full name."""
        return f"{self.repository}:{tag}"


OPERATOR: Final = Image(
    name="operator",
    inputs=("images/operator", "pyproject.toml", "uv.lock", "operator"),
    packages=("python3", "python3-venv", "python-is-python3"),
    left_out=tuple(f"/usr/share/{folder}/*" for folder in DOCUMENTATION),
)

TRAINER: Final = Image(
    name="trainer",
    inputs=("images/trainer", "examples"),
    skipped=(".md", ".yaml"),
    packages=(
        "python3",
        "python-is-python3",
        "python3-torch",
        "python3-sklearn",
        "libopenblas0-pthread",  # the reference BLAS that comes otherwise is far slower
        "openmpi-bin",
        "ca-certificates",
    ),
    left_out=(
        *OPERATOR.left_out,
        "/usr/lib/libtorch-test/*",  # torch's own C++ tests
        f"{TORCH}/test",
        f"{TORCH}/bin/*",
        f"{TORCH}/include/*",
        "/usr/lib/*/libLLVM*",  # AMD GPU compiler, which Open MPI's transports bring
        "/usr/lib/*/libamd_comgr*",
        "/usr/lib/*/libamdhip64*",
        "/usr/lib/*/ucx/*rocm*",
    ),
    kept=(f"{TORCH}/bin/torch_shm_manager",),  # torch refuses to be imported without it
)

WHEELS: Final = (*OPERATOR.packages, "libstdc++6")
"""What wheels from PyPI take for granted."""

TENSORFLOW: Final = Image(
    name="tensorflow",
    inputs=("images/tensorflow", "examples/11-tensorflow", "examples/12-tensorflow-ps"),
    skipped=TRAINER.skipped,
    packages=WHEELS,
    left_out=OPERATOR.left_out,
    shared="wheels",
)

JAX: Final = Image(
    name="jax",
    inputs=("images/jax", "examples/13-jax"),
    skipped=TRAINER.skipped,
    packages=WHEELS,
    left_out=OPERATOR.left_out,
    shared="wheels",
)

MPI: Final = Image(
    name="mpi",
    inputs=("images/mpi", "examples"),
    skipped=TRAINER.skipped,
    packages=("python3", "python-is-python3", "python3-mpi4py", "python3-numpy", "openmpi-bin"),
    left_out=TRAINER.left_out,
)

USUAL: Final = (OPERATOR, TRAINER)
"""What is built when nobody says what; the others are large, and few need them."""

IMAGES: Final[Mapping[str, Image]] = {image.name: image for image in (*USUAL, TENSORFLOW, JAX, MPI)}
