"""Texts: what is read as kubectl reads it, what passes unchanged, and what is too much."""

import pytest
import yaml

from trainingjobs.convert import documents, stream
from trainingjobs.convert.source import NotConvertible

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: one}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        spec:
          containers:
          - {name: pytorch, image: "registry.example/one:1"}
"""
SECRET = """\
# kept by hand
apiVersion: v1
kind: Secret
metadata: {name: key}   # as it is
stringData:
  at: 2026-01-02   # a date, a time, a number with an e
  often: [12:30, 1e3, 0644]
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-02", "2026-01-02"),
        ("12:30", "12:30"),
        ("1e3", 1000.0),
        ("0644", 420),
        ("0x1F", 31),
        ("-7", -7),
        ("3.5", 3.5),
        ("on", True),
        ('"on"', "on"),
    ],
)
def test_values_are_those_that_kubectl_reads(text: str, value: object) -> None:
    (document,) = documents.read(f"value: {text}")
    assert document.value == {"value": value}
    assert type(document.value["value"]) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02",
        "12:30",
        "1e3",
        "on",
        "y",
        "N",
        "null",
        "0o17",
        "1_000",
        "",
        " a",
        "a: b",
        "\x85",
        "\ud800",
    ],
)
def test_a_text_stays_a_text_for_every_reader(text: str) -> None:
    written = documents.write({"value": text})
    assert documents.read(written)[0].value == {"value": text}
    assert yaml.safe_load(written) == {"value": text}
    assert written == f"value: {text}\n" or '"' in written or "'" in written


def test_a_script_is_written_as_a_block() -> None:
    assert documents.write({"args": ["one\ntwo\n"]}) == "args:\n- |\n  one\n  two\n"


def test_what_is_no_training_job_passes_unchanged() -> None:
    done = stream.convert([("a", f"{SECRET}---\n{JOB}---\n---\n{SECRET}")])
    first, _, last = done.manifests.split("---\n")
    assert first == last == SECRET.removeprefix("# kept by hand\n")
    assert (done.words, done.refused) == ((), False)


@pytest.mark.parametrize("before", ["--- ", "  ", ""])
def test_a_document_in_one_line_passes_whole(before: str) -> None:
    text = before + "{apiVersion: v1, kind: Namespace, metadata: {name: lab}}"
    assert documents.read(stream.convert([("a", text)]).manifests) == [
        documents.Document(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}},
            "  " * (before == "  ") + text.strip(" -") + "\n",
        )
    ]


def test_the_items_of_a_list_are_documents() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [*yaml.safe_load_all(SECRET), None]}
    listed["items"][1] = yaml.safe_load(JOB)
    done = stream.convert([("a", documents.write(listed))])
    assert [item["kind"] for item in yaml.safe_load_all(done.manifests)] == [
        "Secret",
        "TrainingJob",
    ]


def test_one_that_cannot_be_converted_keeps_no_other_from_it() -> None:
    bad = JOB.replace("Master", "Boss").replace("one}", "bad}")
    done = stream.convert([("a", f"{bad}---\n{JOB}"), ("b", "{")])
    assert done.refused
    assert [item["metadata"]["name"] for item in yaml.safe_load_all(done.manifests)] == ["one"]
    first, second = done.words
    assert first.startswith("b: no YAML: ")
    assert second == (
        "PyTorchJob/bad: not converted: spec.pytorchReplicaSpecs.Boss: no such role is known"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a" * 2_000_001, "more than 2000000 characters"),
        ("---\na\n" * 1001, "more than 1000 documents"),
        ("[" * 5000, "too many levels"),
        ("a: &a {}\nb: [" + "*a," * 101 + "]", "more than 100 aliases"),
        ("a: &a {" + ",".join(f"k{n}: 1" for n in range(2001)) + "}\nb: {<<: *a}", "2000 fields"),
        ("a: " + "1" * 5000, "a value cannot be read"),
        ("a: !!python/object:os.system {}", "no YAML"),
        ("? [a]\n: b", "no YAML"),
        ("a: \x00", "no YAML"),
    ],
    ids=["long", "many", "deep", "aliases", "merges", "a number", "an object", "a key", "a null"],
)
def test_what_is_too_much_or_no_yaml(text: str, why: str) -> None:
    with pytest.raises(NotConvertible, match=why):
        documents.read(text)


def test_a_small_text_of_a_large_document_is_refused() -> None:
    lines = ["l0: &l0 [" + "x," * 50 + "]"]
    lines += [f"l{n}: &l{n} [" + f"*l{n - 1}," * 9 + "]" for n in range(1, 11)]
    laughs = "\n".join(f"  {line}" for line in lines)
    done = stream.convert([("a", JOB.replace("spec:\n  pytorch", f"spec:\n{laughs}\n  pytorch"))])
    assert done.words == ("PyTorchJob/one: not converted: more than 100000 values in one document",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("metadata: {name: one}", "metadata: {name: one, name: two}"),
        ("spec:\n", "spec: {}\nspec:\n"),
        ("image: ", "image: a, env: [{name: A, value: b, value: c}], image: "),
    ],
)
def test_a_job_with_a_field_that_is_there_twice_is_refused(old: str, new: str) -> None:
    done = stream.convert([("a", f"{SECRET}---\n{JOB.replace(old, new)}---\n{JOB}")])
    assert done.refused
    assert [item["kind"] for item in yaml.safe_load_all(done.manifests)] == [
        "Secret",
        "TrainingJob",
    ]
    (said,) = done.words
    assert "not converted: line " in said
    assert said.endswith(" is there twice")


def test_a_list_with_a_field_that_is_there_twice_is_refused_and_no_other_document() -> None:
    merged = "a: &a {k: 1, l: 2}\nb: {<<: *a, k: 3}\n"
    twice = "kind: List\nitems:\n- {a: 1, a: 2}\n"
    with pytest.raises(NotConvertible, match="line 3: a is there twice"):
        documents.read(twice)
    assert documents.read(merged)[0].value["b"] == {"k": 3, "l": 2}
    assert documents.read(merged)[0].twice == ""
    assert stream.convert([("a", "kind: Other\nkind: Other\n")]).manifests


def test_lists_of_one_kind_and_lists_in_lists() -> None:
    job = yaml.safe_load(JOB)
    api, kind = job.pop("apiVersion"), job.pop("kind")
    inner = {"apiVersion": api, "kind": f"{kind}List", "items": [job]}
    listed = {"apiVersion": "v1", "kind": "List", "items": [inner]}
    done = stream.convert([("a", documents.write(listed))])
    assert [item["kind"] for item in yaml.safe_load_all(done.manifests)] == ["TrainingJob"]


@pytest.mark.parametrize(
    ("item", "why"),
    [
        ("\n".join(["l0: &l0 [x,x,x,x,x,x,x,x,x]"]
                   + [f"l{n}: &l{n} [" + f"*l{n - 1}," * 9 + "]" for n in range(1, 11)]),
         "more than 200000 values"),
        ("a: &a {b: *a}", "more than 60 levels"),
    ],
)  # fmt: skip
def test_an_item_that_grows_without_end_is_refused(item: str, why: str) -> None:
    lines = item.replace("\n", "\n  ")
    with pytest.raises(NotConvertible, match=why):
        documents.read(f"kind: List\nitems:\n- {lines}\n")
    with pytest.raises(NotConvertible, match="more than 60 levels"):
        documents.read("&a\nkind: List\nitems: [*a]\n")


TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune, namespace: lab}
spec:
  runtimeRef: {name: own, kind: KIND}
  trainer: {image: "registry.example/one:1"}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: own, namespace: lab}
spec: &spec
  mlPolicy: {numNodes: 3, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}
"""


@pytest.mark.parametrize(
    ("kind", "namespace", "size"),
    [
        ("TrainingRuntime", "lab", 3),
        ("TrainingRuntime", "other", 1),
        ("ClusterTrainingRuntime", "lab", 1),
    ],
)
def test_a_runtime_is_the_one_of_its_kind_and_namespace(
    kind: str, namespace: str, size: int
) -> None:
    runtime = RUNTIME.replace("namespace: lab", f"namespace: {namespace}")
    done = stream.convert([("a", f"{runtime}---\n{TRAINJOB.replace('KIND', kind)}")])
    *_, job = yaml.safe_load_all(done.manifests)
    assert job["spec"]["PARALLEL_INSTANCES"] == size


def test_a_runtime_without_an_end_is_refused() -> None:
    endless = RUNTIME.replace("image: i}", "image: i, resources: {limits: *spec}}")
    done = stream.convert([("a", f"{endless}---\n{TRAINJOB.replace('KIND', 'TrainingRuntime')}")])
    assert done.words == ("TrainJob/tune: not converted: more than 60 levels in one document",)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("command: [torchrun, --nproc_per_node=4, train.py]", 4),
        ("command: [torchrun, --nproc-per-node, '8', train.py]", 8),
        ("args: ['exec torchrun --nproc-per-node 2 train.py']", 2),
        ("env: [{name: PET_NPROC_PER_NODE, value: '4'}]", 4),
        ("env: [{name: LOCAL_WORLD_SIZE, value: '2'}]", 2),
        ("command: [torchrun, --nproc_per_node=gpu, train.py]", None),
        ("command: [torchrun, --nproc_per_node=0, train.py]", None),
        ("command: [torchrun, --nproc_per_node=4, --nproc_per_node=2]", None),
    ],
)
def test_the_processes_that_torchrun_starts_are_the_instances(
    said: str, number: int | None
) -> None:
    done = stream.convert([("a", JOB.replace("pytorch, image", f"pytorch, {said}, image"))])
    spec = yaml.safe_load(done.manifests)["spec"]
    assert spec.get("processesPerInstance") == number
    words = "\n".join(done.words)
    assert ("was taken from what the pods run" in words) == (number is not None)
    assert ("set spec.processesPerInstance: N, then leave it out" in words) == (number is None)


def test_the_processes_that_the_job_says_stay() -> None:
    said = JOB.replace("spec:\n  py", "spec:\n  nprocPerNode: '2'\n  py")
    text = said.replace("pytorch, image", "pytorch, args: [--nproc_per_node=4], image")
    done = stream.convert([("a", text)])
    assert yaml.safe_load(done.manifests)["spec"]["processesPerInstance"] == 2
    assert "leave it out: torchrun needs none" in done.words[-1]
