"""What a template's texts say of a group that is not there, at the cost of one look at each."""

import time
from typing import Any

import pytest

from trainingjobs.convert import options, traces


def _template(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "trainer", **container}]}}


def _notes(argument: str, job: str = "x") -> list[Any]:
    return traces.notes(_template(args=[argument]), job, "template")


def _said(processes: Any = None, **container: Any) -> list[str]:
    return [str(note) for note in options.notes(_template(**container), "template", processes)]


def test_the_names_of_the_old_pods_are_told() -> None:
    assert [note.why for note in _notes("--host=mnist-worker-12", "mnist")] == [
        "there is no mnist-worker-12 here"
    ]
    assert _notes("--data=/data/mnist", "mnist") == []


def test_a_long_text_costs_what_its_length_is_worth() -> None:
    began = time.process_time()
    _notes("x-" * 100_000)
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("part", "container"),
    [
        ("readinessProbe", {"readinessProbe": {"exec": {"command": ["nc", "x-worker-0"]}}}),
        ("livenessProbe", {"livenessProbe": {"httpGet": {"host": "x-worker-0", "port": 80}}}),
        ("startupProbe", {"startupProbe": {"tcpSocket": {"host": "x-worker-0", "port": 80}}}),
        ("lifecycle.preStop", {"lifecycle": {"preStop": {"exec": {"command": ["x-worker-0"]}}}}),
        ("command", {"command": ["x-worker-0"], "lifecycle": {"postStart": None}}),
    ],
)
def test_what_is_asked_of_a_container_is_looked_at(part: str, container: Any) -> None:
    (note,) = traces.notes(_template(**container), "x", "template")
    assert note.path == f"template.containers.trainer.{part}"
    assert note.why == "there is no x-worker-0 here"


@pytest.mark.parametrize("probe", ["", [], {"exec": None}, {"exec": {"command": "x-worker-0"}}])
def test_a_probe_of_any_shape_breaks_nothing(probe: Any) -> None:
    assert traces.notes(_template(livenessProbe=probe, lifecycle=probe), "x", "template") == []


def test_variables_that_are_torchruns_options_are_told() -> None:
    def told(name: str) -> list[str]:
        return _said(env=[{"name": name, "value": "c10d"}])

    for name in ("PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_RDZV_CONF", "PET_STANDALONE"):
        (said,) = told(name)
        assert said.startswith(f"template.containers.trainer.env.{name}: it wins over")
    assert [*told("PET_MAX_RESTARTS"), *told("PET_RDZV_ID"), *told("NCCL_DEBUG")] == []


@pytest.mark.parametrize("word", ["$RANK", "${RANK}", "$(RANK)", "${RANK:-0}"])
def test_a_rank_that_a_command_passes_on_is_told_where_it_counts_processes(word: str) -> None:
    command = ["sh", "-c", f"exec mine --node {word}"]
    assert _said(command=command) == _said(1, command=command) == []
    for several in (2, "auto"):
        (said,) = _said(several, command=command)
        assert said.endswith(
            "RANK is the first rank of the instance here; NODE_RANK is the instance's number"
        )
    assert _said(2, command=["mine", "$NODE_RANK", "$RANKS", "$$RANKING"]) == []
    assert "WORLD_SIZE counts processes" in _said(2, args=["--nodes=$WORLD_SIZE"])[0]


ACCELERATE = (
    "accelerate launch --num_machines=$NNODES --machine_rank $(NODE_RANK) --num_processes "
    "${WORLD_SIZE} --main_process_ip=$MASTER_ADDR --main_process_port $MASTER_PORT train.py"
)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["sh", "-c", ACCELERATE], None),
        (ACCELERATE.split(), None),
        (ACCELERATE.replace("num_machines", "num-machines").split(), None),
        (
            ACCELERATE.replace("$(NODE_RANK)", "$RANK").split(),
            "give it --machine_rank=$(NODE_RANK)",
        ),
        (
            ["python", "-m", "accelerate.commands.launch", "train.py"],
            (
                "give it --num_machines=$(NNODES) --machine_rank=$(NODE_RANK) "
                "--num_processes=$(WORLD_SIZE) --main_process_ip=$(MASTER_ADDR) "
                "--main_process_port=$(MASTER_PORT)"
            ),
        ),
        (["pip", "install", "accelerate"], None),
    ],
)
def test_accelerate_is_told_what_it_takes_from_options_alone(
    command: list[str], words: str | None
) -> None:
    said = _said(command=command)
    assert [line.partition("; ")[2] for line in said] == ([words] if words else [])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("torchrun --nnodes=2 --node_rank $RANK x.py", "--nnodes, --node_rank win over"),
        ("torchrun --master_addr=$MASTER_ADDR --nnodes ${NNODES} x.py", None),
        ("torchrun --node-rank=$(PET_NODE_RANK) x.py", None),
        ("torchrun --master_addr=$MASTER_PORT x.py", "--master_addr wins over"),
        ("tune run --rdzv_endpoint=localhost:29500 x", "--rdzv_endpoint wins over"),
        ("--nproc_per_node=4", "--nproc_per_node wins over"),
        ("python x.py --master_addr 10.0.0.1", "--master_addr: the group is another here"),
        ("python x.py --master_addr $MASTER_ADDR", None),
        ("deepspeed --master_addr a x.py", "deepspeed starts processes on the hosts of a file"),
        ("exec /opt/bin/deepspeed x.py --deepspeed ds.json", "deepspeed starts processes"),
        ("torchrun x.py --deepspeed ds.json", None),
        ("pip install deepspeed && torchrun x.py", None),
    ],
)
def test_what_a_launcher_is_told_of_another_group(command: str, words: str | None) -> None:
    for parts in (command.split(), ["sh", "-c", command]):
        said = _said(4, command=parts)
        assert len(said) == (1 if words or "$RANK" in command else 0) + ("$RANK" in command)
        assert words is None or words in said[0]


def test_a_name_that_a_container_sets_itself_is_there() -> None:
    env = [{"name": "JOB_INDEX", "value": "1"}]
    assert traces.notes(_template(args=["$JOB_INDEX"], env=env), "x", "template") == []
    assert len(traces.notes(_template(args=["$JOB_INDEX"]), "x", "template")) == 1
