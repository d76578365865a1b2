"""MPI: the list of hosts, and what makes each library's launcher go our way.

The ranks are the launcher's to give: it is the master's command alone, and starts all the others.
Every launcher reads its options from variables of its own, so `mpirun python train.py` needs none.

Sources: Open MPI's `ompi_info --all`, PRRTE's `prte_info --all`, Hydra's and Intel's mpiexec.
"""

from trainingjobs.frameworks.base import Environment, Place
from trainingjobs.model import names

FOLDER = "/run/trainingjob-launch"
"""Where our programs and the key are in the pods."""
SSH = f"{FOLDER}/ssh"
_LISTS = "/dev/shm"  # noqa: S108  shared memory is what every pod can write to

# Open MPI binds each process to a core of its own: in every pod to the same first ones, as no pod
# knows of the others on its node
_OPEN_MPI_4 = {
    # short names resolve nowhere but in their own pod
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_plm_rsh_agent": SSH,
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}
_OPEN_MPI_5 = {
    "PRTE_MCA_prte_keep_fqdn_hostnames": "true",
    "PRTE_MCA_plm_ssh_agent": SSH,
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
# nor may a rank that waits keep a core from those that it waits for
_SHARED = {"OMPI_MCA_mpi_yield_when_idle": "true"}
_ROOT = {
    # a container that runs as root can break nothing but itself, and no user is there to be
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}
_HYDRA = {
    "HYDRA_LAUNCHER": "ssh",
    "HYDRA_LAUNCHER_EXEC": SSH,
}
_INTEL = {
    "I_MPI_HYDRA_BOOTSTRAP": "ssh",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC": SSH,
}
_FIXED = _OPEN_MPI_4 | _OPEN_MPI_5 | _SHARED | _ROOT | _HYDRA | _INTEL
_BY_HOSTFILE = ("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile")
_BY_MACHINEFILE = ("HYDRA_HOST_FILE", "I_MPI_HYDRA_HOST_FILE")


def _folder(place: Place) -> str:
    """The attempt's own, the same in all its pods: jobs of one node may share a memory."""
    return f"{_LISTS}/{names.lists(place.job.uid, place.job.attempt)}"


def wishes(place: Place) -> Environment:
    """The launchers' own options: what a template says of them wins."""
    folder = _folder(place)
    hosts = dict.fromkeys(_BY_HOSTFILE, f"{folder}/hostfile")
    return {**_FIXED, **hosts, **dict.fromkeys(_BY_MACHINEFILE, f"{folder}/machinefile")}


def environment(place: Place) -> Environment:
    """Variables of one instance; all but its own name are the same for all of them."""
    return {
        "MASTER_ADDR": place.address(),
        "MASTER_PORT": str(place.job.spec.port),
        "WORLD_SIZE": str(place.world_size),
        "LOCAL_WORLD_SIZE": str(place.processes),
        "TRAININGJOB_WORKER_ADDR": place.worker_address,
        "TRAININGJOB_ADDR": place.address(place.rank),
        "TRAININGJOB_HOSTFILE": f"{_folder(place)}/hostfile",
    }
