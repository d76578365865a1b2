"""What the reporter does to any Python process of a container, with no framework at all."""

import ast
import subprocess
import sys
import time
import venv
from pathlib import Path

import pytest

from reporter.collector import Answering, Collector
from reporter.pods import PYTHON, Pod, end, free_port
from trainingjobs.model.report import Stage

TELLS = """
    import time
    import trainingjob
    trainingjob.report(step=1, total=10, epoch=0.5, loss=0.25)
    time.sleep(1)
"""
MODULES = "import sys; print(sorted(name for name in sys.modules if 'trainingjob' in name))"


def test_a_process_without_a_framework_is_left_alone(pod: Pod, operator: Collector) -> None:
    process = pod.start("-c", MODULES + "; import threading; print(threading.active_count())")
    assert end(process) == (0, "[]\n1\n", "")
    assert not operator.tries


def test_nothing_is_loaded_where_nobody_listens(pod: Pod) -> None:
    pod.url = ""
    code = MODULES + "; import trainingjob; trainingjob.report(step=1); " + MODULES
    assert end(pod.start("-c", code)) == (0, "[]\n['trainingjob']\n", "")


def test_a_line_of_the_users_is_told_and_the_end(pod: Pod, operator: Collector) -> None:
    pod.script(TELLS)
    process = pod.start(RANK="3", WORLD_SIZE="4")
    told = operator.wait(lambda report: report.told.step)
    assert end(process) == (0, "", "")
    assert (told.rank, told.world_size, told.stage) == (3, 4, Stage.STEPPING)
    assert (told.told.step, told.told.total, told.told.epoch) == (1, 10, 0.5)
    assert told.told.metrics == {"loss": 0.25}
    assert told.lines.step == "train.py:3"
    assert operator.heard[-1].report.stage is Stage.ENDED
    assert operator.heard[-1].token == "Bearer a-token"
    assert {heard.report.process for heard in operator.heard} == {told.process}


def test_what_is_no_number_is_dropped_and_nothing_is_raised(pod: Pod, operator: Collector) -> None:
    pod.script("""
        import decimal, time
        import trainingjob
        class Odd:
            def __float__(self):
                raise SystemError("odd")
        trainingjob.report("one", total=-1, epoch=float("nan"), loss=float("inf"), odd=Odd())
        trainingjob.report(step=decimal.Decimal(7), text="x", none=None, flag=True)
        trainingjob.report(**{"not a name": 1, "é": 2, "x" * 64: 3, "ok/name.x-1": 4})
        trainingjob.report(**{f"m{number}": number for number in range(50)})
        trainingjob.report(loss=float("-inf"), sharded=1, wrapped=False)
        time.sleep(1)
    """)
    assert end(pod.start()) == (0, "", "")
    told = operator.heard[-1].report.told
    assert (told.step, told.total, told.epoch) == (7, None, None)
    assert (told.sharded, told.wrapped) == (True, False)
    assert len(told.metrics) == 16
    assert told.metrics["loss"] == float("-inf")
    assert {"flag", "ok/name.x-1", "m0"} <= set(told.metrics)


def test_the_token_is_read_again(pod: Pod, operator: Collector) -> None:
    pod.script("import time, trainingjob\ntrainingjob.report(step=1)\ntime.sleep(60)")
    pod.start()
    operator.wait(lambda report: report.told.step)
    (pod.folder / "token").write_text("renewed\n")
    with operator.news:
        assert operator.news.wait_for(lambda: operator.heard[-1].token == "Bearer renewed", 20)


def test_an_uncaught_exception_is_told_with_its_line(pod: Pod, operator: Collector) -> None:
    pod.script("""
        import trainingjob
        trainingjob.report(step=1)
        def load():
            raise ValueError("no such\\n data \\x1b[31m" + "x" * 5000)
        load()
    """)
    code, out, err = end(pod.start(RANK="2", WORLD_SIZE="3"))
    assert (code, out) == (1, "")
    assert "ValueError: no such" in err
    assert "trainingjob" not in err.partition("ValueError")[0].replace("trainingjob.report", "")
    error = operator.heard[-1].report.error
    assert error
    assert error.frame
    assert (error.type, error.frame.file, error.frame.line) == ("ValueError", "train.py", 4)
    assert error.frame.function == "load"
    assert error.message.startswith("no such  data �[31mxxx")
    assert operator.heard[-1].report.stage is Stage.ENDED


@pytest.mark.parametrize(
    ("ending", "code", "words"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit('stop')", 1, "stop\n"),
        ("sys.exit()", 0, ""),
        ("os._exit(9)", 9, ""),
        ("os.kill(os.getpid(), 15)", -15, ""),
        ("os.abort()", -6, ""),
    ],
)
def test_exit_codes_stay_as_they_are(pod: Pod, ending: str, code: int, words: str) -> None:
    pod.script(f"import os, sys, trainingjob\ntrainingjob.report(step=1)\n{ending}\n")
    assert end(pod.start()) == (code, "", words)


def test_an_excepthook_of_the_users_is_called_first(pod: Pod, operator: Collector) -> None:
    pod.script("""
        import sys
        sys.excepthook = lambda kind, value, trace: print("mine", kind.__name__, flush=True)
        import trainingjob
        trainingjob.report(step=1)
        1 / 0
    """)
    assert end(pod.start()) == (1, "mine ZeroDivisionError\n", "")
    assert operator.wait(lambda report: report.error and report.error.type == "ZeroDivisionError")


def test_an_excepthook_that_forgets_ours_hides_nothing(pod: Pod, operator: Collector) -> None:
    pod.script("""
        import sys
        import trainingjob
        trainingjob.report(step=1)
        sys.excepthook = lambda kind, value, trace: print("mine", flush=True)
        1 / 0
    """)
    assert end(pod.start()) == (1, "mine\n", "")
    assert operator.wait(lambda report: report.error and report.error.type == "ZeroDivisionError")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_an_exception_in_a_child_of_multiprocessing(
    pod: Pod, operator: Collector, method: str
) -> None:
    pod.script("""
        import multiprocessing, sys
        import trainingjob
        trainingjob.report(step=1)
        def run():
            raise KeyError("lost")
        if __name__ == "__main__":
            child = multiprocessing.get_context(sys.argv[1]).Process(target=run)
            child.start()
            child.join()
    """)
    code, out, err = end(pod.start("train.py", method))
    assert (code, out) == (0, "")
    assert err.endswith("KeyError: 'lost'\n")
    assert "_trainingjob" not in err
    error = operator.wait(lambda report: report.error).error
    assert error
    assert error.frame
    assert (error.type, error.frame.line, error.frame.function) == ("KeyError", 5, "run")


def test_a_module_that_is_missing_is_told_before_any_framework(
    pod: Pod, operator: Collector
) -> None:
    pod.script("import no_such_module\n")
    code, _, err = end(pod.start(RANK="1", WORLD_SIZE="2", TORCHELASTIC_RUN_ID="x"))
    assert code == 1
    assert err.endswith("ModuleNotFoundError: No module named 'no_such_module'\n")
    told = operator.wait(lambda report: report.error)
    assert told.rank == 1
    assert told.error
    assert told.error.frame
    assert (told.error.type, told.error.frame.line) == ("ModuleNotFoundError", 1)


def test_a_tool_that_fails_is_not_the_jobs_failure(pod: Pod, operator: Collector) -> None:
    pod.script("1 / 0")
    assert end(pod.start())[0] == 1
    assert not operator.tries


def theirs(pod: Pod, text: str) -> str:
    """A sitecustomize of the image's, and the path that has it after ours."""
    other = pod.folder / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text(text)
    return f"{pod.code}:{other}"


def test_the_images_sitecustomize_is_run_as_if_ours_were_not_there(pod: Pod) -> None:
    path = theirs(pod, "import sys; sys.theirs = __file__, __name__\n")
    code = "import sys, sitecustomize; print(*sys.theirs, sitecustomize.__file__)"
    file = pod.folder / "other" / "sitecustomize.py"
    out = f"{file} sitecustomize {file}\n"
    assert end(pod.start("-c", code, PYTHONPATH=path)) == (0, out, "")


def test_a_sitecustomize_that_is_a_package(pod: Pod) -> None:
    other = pod.folder / "other" / "sitecustomize"
    other.mkdir(parents=True)
    (other / "part.py").write_text("WORD = 'whole'\n")
    (other / "__init__.py").write_text("from sitecustomize.part import WORD\nprint(WORD)\n")
    process = pod.start("-c", "", PYTHONPATH=f"{pod.code}:{other.parent}")
    assert end(process) == (0, "whole\n", "")


def test_a_sitecustomize_that_fails_says_so_as_ever(pod: Pod) -> None:
    path = theirs(pod, "1 / 0\n")
    with_ours = end(pod.start("-c", "print(1)", PYTHONPATH=path))
    alone = pod.start("-c", "print(1)", PYTHONPATH=path.partition(":")[2])
    assert with_ours == end(alone)
    assert "ZeroDivisionError" in with_ours[2]


def test_a_sitecustomize_that_chains_in_turn_finds_an_end(pod: Pod) -> None:
    text = """import sys, os
print("theirs")
sys.path.remove(os.path.dirname(__file__))
del sys.modules["sitecustomize"]
import sitecustomize
"""
    code, out, _ = end(pod.start("-c", "print('run')", PYTHONPATH=theirs(pod, text)))
    assert (code, out) == (0, "theirs\nrun\n")


def test_a_virtual_environment_keeps_its_packages(pod: Pod) -> None:
    venv.create(pod.folder / "venv", symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = pod.folder / "venv" / "lib" / version / "site-packages"
    (packages / "theirs.py").write_text("WORD = 'theirs'\n")
    pod.python = (str(pod.folder / "venv" / "bin" / "python"),)
    code = "import sys, theirs; print(theirs.WORD, hasattr(sys, '_trainingjob_raw'))"
    assert end(pod.start("-c", code)) == (0, "theirs True\n", "")


def test_isolated_python_has_nothing_of_ours(pod: Pod) -> None:
    code, out, err = end(pod.start("-I", "-c", MODULES + "\nimport trainingjob"))
    assert (code, out) == (1, "[]\n")
    assert "ModuleNotFoundError" in err


def test_without_site_there_is_nothing_of_ours(pod: Pod) -> None:
    code, out, err = end(pod.start("-S", "-c", MODULES + "\nimport trainingjob"))
    assert (code, out) == (1, "[]\n")
    assert "ModuleNotFoundError" in err


@pytest.mark.parametrize(
    "answering",
    [
        Answering(delay=20),
        Answering(body=b"\xff\x00<html>"),
        Answering(body=b'{"interval": "soon"}'),
        Answering(body=b'{"interval": NaN}'),
        Answering(body=b"[]"),
        Answering(body=b'{"interval": -5}'),
        Answering(status=503, headers={"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}),
        Answering(status=500, body=b"x" * 100_000),
        Answering(status=302, headers={"Location": "http://example.invalid/"}),
    ],
    ids=lambda answering: f"{answering.status}-{answering.body[:9]!r}-{answering.delay}",
)
def test_an_odd_answer_disturbs_nobody(pod: Pod, operator: Collector, answering: Answering) -> None:
    operator.answering = answering
    pod.script("""
        import time, trainingjob
        trainingjob.report(step=0)
        for step in range(1, 30):
            began = time.thread_time()
            trainingjob.report(step=step)
            assert time.thread_time() - began < 0.05
            time.sleep(0.05)
    """)
    process = pod.start()
    began = time.monotonic()
    assert end(process) == (0, "", "")
    assert time.monotonic() - began < 15
    assert operator.tries


@pytest.mark.parametrize(
    "url",
    [
        f"http://127.0.0.1:{free_port()}/api/v1/reports",
        "http://no-such-host.invalid/",
        "http://[::1]:1/",
        "https://127.0.0.1:1/x",
        "no url",
        "http://",
        "http://ü/",
        "http://127.0.0.1:99999/",
    ],
)
def test_nobody_there_disturbs_nobody(pod: Pod, url: str) -> None:
    pod.script(TELLS)
    began = time.monotonic()
    assert end(pod.start(TRAININGJOB_REPORT_URL=url)) == (0, "", "")
    assert time.monotonic() - began < 10


def test_who_is_asked_to_wait_waits(pod: Pod, operator: Collector) -> None:
    operator.answering = Answering(status=429, headers={"Retry-After": "30"})
    pod.script("""
        import time, trainingjob
        for step in range(40):
            trainingjob.report(step=step)
            time.sleep(0.1)
    """)
    end(pod.start())
    assert operator.tries <= 2, "one report, and one at the end"


def test_the_interval_is_obeyed(pod: Pod, operator: Collector) -> None:
    operator.answering = Answering(body=b'{"interval": 3}')
    pod.script("import time, trainingjob\ntrainingjob.report(step=1)\ntime.sleep(60)")
    pod.start()
    with operator.news:
        assert operator.news.wait_for(lambda: len(operator.heard) >= 3, 30)
    first, second = operator.heard[1].at, operator.heard[2].at
    assert 2.5 <= second - first <= 4


def test_what_is_said_of_it_without_a_token(pod: Pod, operator: Collector) -> None:
    (pod.folder / "token").unlink()
    pod.script(TELLS)
    assert end(pod.start()) == (0, "", "")
    assert operator.heard[-1].token == ""


def test_a_proxy_of_the_environment_is_not_asked(pod: Pod, operator: Collector) -> None:
    pod.script(TELLS)
    assert end(pod.start(http_proxy="http://127.0.0.1:1", HTTP_PROXY="http://127.0.0.1:1"))[0] == 0
    assert operator.heard


def test_the_reporters_thread_imports_nothing(pod: Pod, operator: Collector) -> None:
    """A module that is being imported in a thread at a fork can never be imported in the child."""
    pod.script("""
        import sys, time, trainingjob
        trainingjob.report(step=1)
        before = set(sys.modules)
        time.sleep(3)
        print(sorted(set(sys.modules) - before))
    """)
    assert end(pod.start()) == (0, "[]\n", "")
    assert len(operator.heard) >= 2


def test_the_start_of_a_process_that_does_not_train_loads_next_to_nothing(pod: Pod) -> None:
    """Two milliseconds on an idle machine; here, what would make it more."""
    code = "import sys; print(*sorted(sys.modules))"
    (pod.folder / "bare").mkdir()
    (pod.folder / "bare" / "sitecustomize.py").touch()
    bare = end(pod.start("-c", code, PYTHONPATH=str(pod.folder / "bare")))[1].split()
    ours = end(pod.start("-c", code, PYTHONPATH=f"{pod.code}:{pod.folder / 'bare'}"))[1].split()
    assert set(ours) == set(bare)


def test_the_package_imports_nothing_but_the_standard_library_and_runs_on_python_3_8() -> None:
    source = Path(__file__).parents[2] / "operator"
    for file in (*source.glob("trainingjob/*.py"), *source.glob("_trainingjob/*.py")):
        tree = ast.parse(file.read_text(), feature_version=(3, 8))
        for node in ast.walk(tree):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                top = name.partition(".")[0]
                old = {"imp"} if file.name == "_sitecustomize.py" else set()
                assert top in {*sys.stdlib_module_names, "_trainingjob", *old}, (file, name)


def test_a_full_disk_and_a_closed_output_matter_nothing(pod: Pod, operator: Collector) -> None:
    pod.script(TELLS)
    process = subprocess.run(
        ["sh", "-c", f"{PYTHON} train.py >&- 2>&- <&-"],
        cwd=pod.work,
        env=pod.environment(TMPDIR="/nonexistent"),
        check=False,
        timeout=60,
    )
    assert process.returncode == 0
    assert operator.heard
