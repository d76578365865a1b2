"""Which kind of cluster a machine gets."""

import pathlib

import pytest
import yaml

from localcluster import assets, choose, errors, kind


@pytest.mark.parametrize(
    ("asked", "engine", "program", "kind_of"),
    [
        pytest.param("", True, True, "kind", id="Docker and kind are there"),
        pytest.param("", True, False, "embedded", id="Docker without kind"),
        pytest.param("", False, True, "embedded", id="kind without Docker"),
        pytest.param("", False, False, "embedded", id="neither"),
        pytest.param("embedded", True, True, "embedded", id="asked for, though kind would do"),
        pytest.param("current", False, False, "current", id="the user's own, when asked for"),
    ],
)
def test_choice(asked: str, engine: bool, program: bool, kind_of: str) -> None:
    choice = choose.choose(asked, engine=engine, program=program)
    assert choice.kind == kind_of
    assert choice.reason


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.ClusterError, match=r"CLUSTER=minikube.*embedded, kind, current"):
        choose.choose("minikube", engine=True, program=True)


@pytest.mark.parametrize("text", ["0", "3", "many"])
def test_only_one_or_two_nodes(text: str) -> None:
    with pytest.raises(errors.ClusterError, match=f"NODES={text}"):
        choose.nodes(text)


def test_kind_gets_a_pinned_image_its_own_kubeconfig_and_workers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv(kind.IMAGE, raising=False)
    calls: list[tuple[str, str | None]] = []

    def run(argv: object, text: str | None = None) -> str:
        assert isinstance(argv, list)
        calls.append((" ".join(map(str, argv)), text))
        return "other\n"

    path = kind.Kind(run).up(2)
    create, config = calls[-1]
    assert path == tmp_path / "trainingjob-operator/kind.kubeconfig"
    assert "--name trainingjobs" in create
    assert "--image kindest/node:v1.37" in create
    assert "@sha256:" in create
    assert config is not None
    assert config.count("role: worker") == 1


def test_kind_takes_a_node_image_of_ones_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv(kind.IMAGE, "localhost/node:1")
    calls: list[str] = []

    def run(argv: object, text: str | None = None) -> str:
        del text
        assert isinstance(argv, list)
        calls.append(" ".join(map(str, argv)))
        return ""

    kind.Kind(run).up(1)
    assert "--image localhost/node:1 " in calls[-1]


def test_the_kubelet_is_told_of_old_cgroups_where_there_are_any() -> None:
    told = {"kind": "KubeletConfiguration", "failCgroupV1": False}
    assert told in patches(kind.config(1, old=True))
    assert told not in patches(kind.config(1))


def test_kubeadm_gives_a_busy_machine_its_time() -> None:
    (patience,) = patches(kind.config(1))
    assert patience == {
        "kind": "InitConfiguration",
        "timeouts": {"kubernetesAPICall": "5m0s"},
    }


def patches(config: str) -> list[object]:
    """What kind tells kubeadm in addition."""
    return [yaml.safe_load(patch) for patch in yaml.safe_load(config)["kubeadmConfigPatches"]]


def test_named_assets_must_hold_both_servers(tmp_path: pathlib.Path) -> None:
    (tmp_path / "etcd").touch()
    with pytest.raises(errors.ClusterError, match="has no kube-apiserver"):
        assets.checked(tmp_path)
    (tmp_path / "kube-apiserver").touch()
    assert assets.checked(tmp_path) == tmp_path
