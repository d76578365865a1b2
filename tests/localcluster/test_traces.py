"""What is ours is found, and what is not ours is left alone."""

import pathlib

from localcluster import cleanup, host, places

AT = places.Places(pathlib.Path("/state"), pathlib.Path("/run/ours"))


def test_mounts_of_ours_are_taken_last_first() -> None:
    mounts = [
        "/dev/vda / ext4 rw 0 0",
        "tmpfs /state/pods tmpfs rw 0 0",
        "tmpfs /stateful tmpfs rw 0 0",
        "tmpfs /state/pods/a\\040b tmpfs rw 0 0",
        "nsfs /run/ours/tj-node-1 nsfs rw 0 0",
    ]
    assert cleanup.below(mounts, AT) == ["/run/ours/tj-node-1", "/state/pods/a b", "/state/pods"]


def _a_host(root: pathlib.Path) -> pathlib.Path:
    setting = root / "proc/sys/net/ipv4/ip_forward"
    setting.parent.mkdir(parents=True)
    setting.write_text("0\n")
    (root / "var/lib/cni/results").mkdir(parents=True)
    return setting


def test_the_host_is_put_back_as_it_was(tmp_path: pathlib.Path) -> None:
    setting, note = _a_host(tmp_path), tmp_path / "note"
    host.remember(note, tmp_path)
    setting.write_text("1\n")
    host.remember(note, tmp_path)  # a second start must not take our own value for the host's
    (tmp_path / "var/lib/kubelet").mkdir()
    host.restore(note, tmp_path)
    assert setting.read_text() == "0\n"
    assert not (tmp_path / "var/lib/kubelet").exists()
    assert (tmp_path / "var/lib/cni").exists()
    assert not note.exists()


def test_files_of_others_in_shared_folders_stay(tmp_path: pathlib.Path) -> None:
    _a_host(tmp_path)
    results, links = tmp_path / "var/lib/cni/results", tmp_path / "var/log/containers"
    links.mkdir(parents=True)
    for name in (
        "tj-node-0-abc-eth0",
        "cni-loopback-abc-lo",
        "cni-loopback-xyz-lo",
        "podman-1-eth0",
    ):
        (results / name).touch()
    (links / "ours.log").symlink_to("/state/nodes/x.log")
    (links / "theirs.log").symlink_to("/var/log/pods/x.log")
    host.tidy(AT, tmp_path)
    assert {path.name for path in results.iterdir()} == {"cni-loopback-xyz-lo", "podman-1-eth0"}
    assert {path.name for path in links.iterdir()} == {"theirs.log"}
