"""Variables that make the group: a template may read them and never set them.

One rank with another world size or master address hangs all the others, so the resource's
schema refuses them by name. Every other variable is the user's own to set.
"""

from typing import Final

_PYTORCH: Final = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "NNODES",
)
_TORCHRUN: Final = (
    "PET_NNODES",
    "PET_NPROC_PER_NODE",
    "PET_NODE_RANK",
    "PET_MASTER_ADDR",
    "PET_MASTER_PORT",
    "PET_RDZV_ID",
)
_TENSORFLOW: Final = ("TF_CONFIG",)
_JAX: Final = ("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID")
_OURS: Final = (
    "PARALLEL_INSTANCES",
    "TRAININGJOB_NAME",
    "TRAININGJOB_ATTEMPT",
    "TRAININGJOB_ROLE",
    "TRAININGJOB_ADDR",
    "TRAININGJOB_WORKER_ADDR",
    "TRAININGJOB_HOSTFILE",
)

REPORT_URL: Final = "TRAININGJOB_REPORT_URL"
USER_PATH: Final = "TRAININGJOB_USER_PYTHONPATH"
_ROLL_CALL: Final = (REPORT_URL, USER_PATH)

RESERVED: Final = (*_PYTORCH, *_TORCHRUN, *_TENSORFLOW, *_JAX, *_OURS, *_ROLL_CALL)
