"""What running code gives to its author: arguments, variables, results; and to the operator: an end."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from boxes import TOKEN, Answerer, Boxes, boxes_in

import pipelines
from pipelines.sandbox import recipe
from pipelines.sandbox.job import CodeErrorKind, CodeOutcome
from pipelines.sandbox.memory import tree
from pipelines.sandbox.pool import NOBODY, CannotIsolate, SandboxPool
from pipelines.sandbox.recipe import Layout

CALLS = """
import urllib.request
def run(task_input, *, proxy_url, run_token):
    request = urllib.request.Request(proxy_url + "/tools/get_order", headers={"token": run_token})
    return {"final_response": urllib.request.urlopen(request).read().decode(), "given": task_input}
"""


def wait_for(condition: Callable[[], bool], what: str) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail(f"waited in vain: {what}")


def test_a_call_reaches_the_proxy_and_the_result_comes_back(boxes: Boxes) -> None:
    proxy = Answerer()
    outcome = boxes.run(CALLS, serve=proxy, task_input={"user_instruction": "Größe?"})
    assert outcome.result == {
        "final_response": '{"path": "/runs/7/tools/get_order"}',
        "given": {"user_instruction": "Größe?"},
    }
    assert (outcome.error, outcome.isolation, outcome.was_called) == (None, "bubblewrap", True)
    assert (proxy.paths, proxy.tokens) == (["/runs/7/tools/get_order"], [TOKEN])


def test_variables_folders_and_streams(boxes: Boxes) -> None:
    code = """
    import os, sys
    print("to stdout")
    def run(task_input, *, proxy_url, run_token):
        print("to stderr", file=sys.stderr)
        for path in ("note", "workspace/note", "/tmp/note"):
            open(path, "w").write("x")
        wanted = [name for name in os.environ if "PIPELINES" in name or name == "API_KEY"]
        return {name: os.environ[name] for name in wanted} | {
            "cwd": os.getcwd(), "here": sorted(os.listdir()), "stdin": sys.stdin.read(), "url": proxy_url}
    """
    given = {"API_KEY": "k-1", "PIPELINES_RUN_ID": "7"}
    outcome = boxes.run(code, env=given, task_input={"user_instruction": "Hi"})
    assert outcome.result == {
        "API_KEY": "k-1",
        "PIPELINES_RUN_ID": "7",
        "PIPELINES_ODYSSEY_PROXY_URL": "http://127.0.0.1:8377/runs/7",
        "PIPELINES_RUN_TOKEN": TOKEN,
        "_PIPELINES_TASK_INPUT_JSON": '{"user_instruction": "Hi"}',
        "cwd": "/job",
        "here": ["agent", "note", "workspace"],
        "stdin": "",
        "url": "http://127.0.0.1:8377/runs/7",
    }
    assert (outcome.stdout, outcome.stderr) == ("to stdout\n", "to stderr\n")


def test_async_functions_and_files_of_any_name(boxes: Boxes) -> None:
    code = "async def answer(task_input, **_):\n    from pkg.part import word\n    return word"
    files = {"json.py": code, "pkg/part.py": "word = 'async'"}
    assert boxes.value("", files=files, entrypoint="json.py:answer") == "async"
    nested = {"pkg/inner/agent.py": "from ..part import word\ndef run(t, **_): return word"}
    nested |= {"pkg/part.py": "word = 'nested'"}
    assert boxes.value("", files=nested, entrypoint="pkg/inner/agent.py") == "nested"


@pytest.mark.parametrize(
    ("code", "exception", "says"),
    [
        ("import nowhere", "ModuleNotFoundError", "nowhere"),
        ("def run(:", "SyntaxError", "invalid syntax"),
        ("x = 1", "AttributeError", "agent.py has no function run"),
        ("def run(task_input):\n    return 'x'", "TypeError", "proxy_url"),
        ("def run(task_input, **_):\n    return {}['order']", "KeyError", "order"),
        ("async def run(task_input, **_):\n    raise ValueError('late')", "ValueError", "late"),
    ],
)
def test_the_codes_own_errors_are_its_outcome(boxes: Boxes, code: str, exception: str, says: str) -> None:
    error = boxes.error(code, CodeErrorKind.EXCEPTION)
    assert error.exception == exception
    assert says in error.message
    assert error.traceback is not None
    assert "driver.py" not in error.traceback.split("agent.py")[0]  # their frames come first


def test_the_sdk_is_bound_for_straight_line_code(boxes: Boxes) -> None:
    root = Path(pipelines.__file__).parent
    code = """
    from pipelines.odyssey import context
    def run(task_input, **_):
        envelope = context.current()
        return {"run": envelope.run_id, "url": envelope.odyssey_proxy_url, "said": envelope.user_instruction}
    """
    source = boxes.source(code)
    for name in ("wire", "odyssey"):
        shutil.copytree(
            root / name, source / "pipelines" / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    boxes.written |= boxes.files()
    given = {"PIPELINES_RUN_ID": "7", "PIPELINES_TASK_ID": "9", "PIPELINES_RUN_TOKEN_JTI": "j"}
    packages = Path(sys.prefix)  # the SDK's own requirement is among the test's
    result = boxes.value(source, env=given, task_input={"user_instruction": "Hi"}, environment=packages)
    assert result == {"run": 7, "url": "http://127.0.0.1:8377/runs/7", "said": "Hi"}


def test_a_folder_that_is_called_like_the_sdk_does_no_harm(boxes: Boxes) -> None:
    files = {"pipelines/odyssey/context.py": "raise RuntimeError('not the SDK')"}
    assert boxes.value("def run(task_input, **_):\n    return 'ok'", files=files) == "ok"


def test_cancelling_kills_the_tree(boxes: Boxes) -> None:
    called = threading.Event()

    async def serve(connection: object) -> None:
        called.set()
        await asyncio.Event().wait()

    running = boxes.begin(boxes.pool.run(boxes.job(CALLS), serve=serve))
    assert called.wait(20)
    assert boxes.processes()
    running.cancel()
    assert boxes.left_behind() == []


def test_a_broken_proxy_is_not_the_sandboxes_end(boxes: Boxes, caplog: pytest.LogCaptureFixture) -> None:
    async def serve(connection: object) -> None:
        raise RuntimeError("our fault")

    error = boxes.error(CALLS, CodeErrorKind.EXCEPTION, serve=serve)
    # The second where the connection is closed before all that was sent has been read.
    assert error.exception in ("RemoteDisconnected", "ConnectionResetError")
    assert "our fault" in caplog.text


@pytest.fixture
def own_boxes(tmp_path: Path, boxes: Boxes) -> Path:
    """A folder for a pool of the test's own, where pools work at all."""
    return tmp_path


def test_a_sandbox_waits_for_code_that_was_run_before_and_serves_once(own_boxes: Path) -> None:
    code = """
    import os
    def run(task_input, **_):
        before = os.path.exists("/tmp/mark")
        open("/tmp/mark", "w").close()
        return {"marked": before, "pids": os.listdir("/proc").count("1")}
    """
    with boxes_in(own_boxes, warm=1, most_warm=1) as boxes:
        source = boxes.source(code)
        outcomes: list[CodeOutcome] = []
        for _ in range(3):
            outcomes.append(boxes.run(source))
            wait_for(lambda: waiting(boxes) == 1, "a sandbox waits")
        assert [outcome.was_warm for outcome in outcomes] == [False, True, True]
        assert [outcome.result["marked"] for outcome in outcomes] == [False] * 3  # type: ignore[index,call-overload]
        for pid in tree(boxes.launcher_pid):
            assert TOKEN.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        boxes.run(CALLS)  # other code: the one that waits makes room
        wait_for(lambda: boxes.pool._stock._tasks == set(), "rearranged")  # type: ignore[union-attr]
        assert waiting(boxes) == 1
        launcher = boxes.launcher_pid
    assert not Path(f"/proc/{launcher}").exists()


def layout_in(boxes: Boxes) -> Layout:
    source = boxes.source("def run(*_, **__):\n    return {}")
    return Layout(source_dir=source, environment=None, disk_bytes=2**20, memory_bytes=2**28)


def test_a_sandbox_that_is_expected_is_begun_once_and_goes_when_nobody_comes(own_boxes: Path) -> None:
    with boxes_in(own_boxes, warm=0) as boxes:
        layout = layout_in(boxes)

        async def expected_and_taken() -> bool:
            boxes.pool.expect(layout)
            stock = boxes.pool._stock
            assert stock is not None
            (starting,) = stock._expected[layout]
            async with boxes.pool.held(layout, place=NOBODY) as held:
                return held is await starting and layout not in stock._expected

        assert boxes.do(expected_and_taken())
        assert boxes.left_behind() == []

        async def expected_for_nothing() -> None:
            boxes.pool.expect(layout)
            stock = boxes.pool._stock
            assert stock is not None
            (starting,) = stock._expected[layout]
            stock._no_longer_expect(layout, starting)  # as the clock does

        boxes.do(expected_for_nothing())
        wait_for(lambda: boxes.pool._stock._tasks == set(), "thrown away")  # type: ignore[union-attr]
        assert boxes.left_behind() == []


def test_what_is_expected_ends_with_the_pool(own_boxes: Path) -> None:
    with boxes_in(own_boxes, warm=0) as boxes:
        layout = layout_in(boxes)

        async def expected() -> None:
            boxes.pool.expect(layout)

        boxes.do(expected())
        launcher = boxes.launcher_pid
    assert not Path(f"/proc/{launcher}").exists()


def test_a_lost_launcher_is_told_and_replaced(own_boxes: Path) -> None:
    with boxes_in(own_boxes, warm=0) as boxes:
        called = threading.Event()

        async def serve(connection: object) -> None:
            called.set()
            await asyncio.Event().wait()

        running = boxes.begin(boxes.pool.run(boxes.job(CALLS), serve=serve))
        assert called.wait(20)
        inside = boxes.processes()
        os.kill(boxes.launcher_pid, signal.SIGKILL)
        outcome = running.result(20)
        assert outcome.error is not None
        assert (outcome.error.kind, outcome.was_called) == (CodeErrorKind.SANDBOX_FAILED, True)
        wait_for(lambda: not any(is_running(pid) for pid in inside), "the sandbox died with its launcher")
        assert boxes.run(CALLS).error is None


def waiting(boxes: Boxes) -> int:
    assert boxes.pool._stock is not None
    return sum(map(len, boxes.pool._stock._waiting.values()))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_server_leaves_nothing_behind(own_boxes: Path) -> None:
    script = f"""
    import asyncio, sys
    from pathlib import Path
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from boxes import Boxes
    async def serve(connection):
        print("called", *boxes.processes(), boxes.launcher_pid, flush=True)
        await asyncio.Event().wait()
    boxes = Boxes(Path({str(own_boxes)!r}), {{"warm": 1}})
    boxes.do(boxes.pool.start())
    boxes.run({CALLS!r}, serve=serve)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pids = [int(word) for word in server.stdout.readline().split()[1:]]
        assert len(pids) >= 3
        server.kill()
    wait_for(lambda: not any(is_running(pid) for pid in pids), "everything ended with the server")


# Where code cannot be isolated


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[Path]:
    """A bubblewrap that fails, where a dropped uid can reach it: pytest's folders are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder, "bwrap")
        path.touch(0o755)
        yield path


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("bwrap: setting up uid map: Permission denied", "docs/reference/sandbox.md"),
        ("bwrap: Unknown option --disable-userns", "0.8"),
        (None, "install bubblewrap"),
    ],
    ids=["not allowed", "too old", "not there"],
)
@pytest.mark.anyio
async def test_code_is_refused_where_it_cannot_be_isolated(
    broken: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, remedy: str
) -> None:
    broken.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")  # noqa: ASYNC240
    monkeypatch.setattr("pipelines.sandbox.probe.bubblewrap", lambda: str(broken) if said else None)
    pool = SandboxPool()
    with pytest.raises(CannotIsolate, match=remedy) as refused:
        await pool.start()
    assert pool.isolation is None
    assert (said or "not installed") in refused.value.probe.reason


def test_the_unsafe_flag_runs_code_without_isolation_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pipelines.sandbox.probe.bubblewrap", lambda: None)
    with boxes_in(tmp_path, isolation="preferred") as boxes:
        outcome = boxes.run(CALLS)
        assert outcome.error is None
        assert outcome.isolation == boxes.pool.isolation == "none"
        assert "WITHOUT isolation" in caplog.text
        code = "import os, time\ndef run(t, **_):\n    os.fork()\n    while True: time.sleep(9)"
        boxes.error(code, CodeErrorKind.TIMEOUT, wall_s=0.5)
        code = (
            "import os\ndef run(t, **_):\n    os.mkdir('x'); return {'cwd': os.getcwd(), 'in': os.listdir()}"
        )
        result = boxes.value(code)
        assert sorted(result["in"]) == ["agent", "workspace", "x"]
        assert not Path(result["cwd"]).exists()


def test_isolation_is_used_where_it_is_there_even_with_the_unsafe_flag(own_boxes: Path) -> None:
    with boxes_in(own_boxes, isolation="preferred") as boxes:
        assert boxes.run(CALLS).isolation == "bubblewrap"


def test_a_sandbox_that_lacks_its_filter_is_not_used(boxes: Boxes, monkeypatch: pytest.MonkeyPatch) -> None:
    real = recipe.isolated

    def without_filter(*given: object, **more: object) -> object:
        request = real(*given, **more)  # type: ignore[arg-type]
        at = list(request.arguments).index("--seccomp")
        return replace(request, arguments=[*request.arguments[:at], *request.arguments[at + 2 :]])

    monkeypatch.setattr("pipelines.sandbox.warm_sandboxes.isolated", without_filter)
    outcome = boxes.run(CALLS)
    assert outcome.error is not None
    assert outcome.error.kind is CodeErrorKind.SANDBOX_FAILED
    assert "rights" in outcome.error.message
    assert not outcome.was_called
