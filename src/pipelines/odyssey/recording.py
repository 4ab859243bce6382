"""Record what your own tools do in your own test suite: arguments, replies and changes of state.

    from pipelines.odyssey.recording import Recording
    from pipelines.odyssey.recorded_state import sqlite_state

    recording = Recording("recordings/shop", snapshot=sqlite_state(connection, {"order": "orders"}))
    refund_order = recording.record(refund_order)

Every call of `refund_order` is recorded, and each test is one task. `pipelines odyssey learn recordings/shop`
then learns how the simulated tools behave. The howto is docs/howto/learn-a-backend.md.
"""

import atexit
import functools
import inspect
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from .recorded_state import Snapshot, State, changes_between, plain_json
from .tools import call_arguments, tools_schema

try:
    import fcntl
except ImportError:  # Windows: two processes must not write one recording
    fcntl = None  # type: ignore[assignment]

F = TypeVar("F", bound=Callable[..., Any])

#: Fields whose values are secrets, wherever they stand.
SECRET_NAMES = re.compile(
    r"(?:^|_)(?:passwords?|passwd|secrets?|tokens?|api_?keys?|authorization|credentials?|cvv|pin)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBER = "[secret number]"
SHORTEST_SECRET = 4  # characters: shorter texts would mask parts of ordinary words


class Recording:
    """A folder with `tools.json` and `calls.jsonl`, in the format of `pipelines odyssey fidelity`.

    `snapshot` reads the state of the backend, before and after each call: see `recorded_state`. Without it,
    the recording has replies only. `secrets` are texts that must not be written. Values of fields that are
    named like secrets (`api_key`, `password`, …) are masked too.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        snapshot: Snapshot | None = None,
        secrets: Iterable[str] = (),
    ) -> None:
        self.directory = Path(directory)
        self._snapshot = snapshot
        self._secrets = tuple(text for text in secrets if text)
        self._functions: list[Callable[..., Any]] = []
        self._tasks: dict[str, _RecordedTask] = {}
        self._named: str | None = None
        self._lock = threading.RLock()
        atexit.register(self.save)

    def record(self, function: F) -> F:
        """The same function, sync or async, whose calls are recorded.

        It returns and raises what the function does. Calls that run at the same time are recorded one after
        the other only if the function is sync: do not run async tools concurrently while you record changes.
        """
        [tool] = tools_schema([function])
        self._functions.append(function)
        name = tool["name"]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self._lock:
                pending = self._begin(function, args, kwargs)
                try:
                    reply = function(*args, **kwargs)
                except Exception as error:
                    self._end(name, pending, response=error_reply(error), is_error=True)
                    raise
                self._end(name, pending, response=reply, is_error=False)
                return reply

        @functools.wraps(function)
        async def async_call(*args: Any, **kwargs: Any) -> Any:
            pending = self._begin(function, args, kwargs)
            try:
                reply = await function(*args, **kwargs)
            except Exception as error:
                self._end(name, pending, response=error_reply(error), is_error=True)
                raise
            self._end(name, pending, response=reply, is_error=False)
            return reply

        return cast(F, async_call if inspect.iscoroutinefunction(function) else call)

    @contextmanager
    def task(self, name: str) -> Iterator[None]:
        """The calls inside belong to this task. By default a task is the running test of pytest."""
        before, self._named = self._named, name
        try:
            yield
        finally:
            self._named = before

    def save(self) -> None:
        """Write what was recorded. A task that the folder already has is replaced. Runs by itself at exit."""
        with self._lock:
            if not self._tasks:
                return
            self.directory.mkdir(parents=True, exist_ok=True)
            with _only_writer(self.directory):
                self._write_tools()
                self._write_calls()
            self._tasks.clear()

    def _begin(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> "_PendingCall":
        arguments = plain_json(call_arguments(function, args, kwargs))
        state = self._snapshot() if self._snapshot is not None else {}
        name = self._named or _running_test() or "calls"
        with self._lock:
            task = self._tasks.setdefault(name, _RecordedTask(name))
            if not task.parts or task.state != state:
                # A test may prepare the state between two calls: what follows is a task that begins so.
                task.parts.append({"state": state, "calls": []})
        return _PendingCall(task, arguments, state)

    def _end(self, name: str, pending: "_PendingCall", *, response: Any, is_error: bool) -> None:
        after = self._snapshot() if self._snapshot is not None else {}
        pending.task.state = after
        pending.task.parts[-1]["calls"].append(
            {
                "tool": name,
                "args": pending.arguments,
                "kind": "gold",
                "status": "error" if is_error else "ok",
                "response": plain_json(response),
                "updates": changes_between(pending.state, after),
            }
        )

    def _write_tools(self) -> None:
        path = self.directory / "tools.json"
        known = {tool["name"]: tool for tool in json.loads(path.read_text())} if path.exists() else {}
        known |= {tool["name"]: tool for tool in tools_schema(self._functions)}
        _replace(path, json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")

    def _write_calls(self) -> None:
        path = self.directory / "calls.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        tasks = {task["task"]: task for task in map(json.loads, lines)}
        for task in self._tasks.values():
            for line in task.lines():
                tasks[line["task"]] = masked(line, self._secrets)
        _replace(path, "".join(json.dumps(task, ensure_ascii=False) + "\n" for task in tasks.values()))


class _RecordedTask:
    """Calls of one test. A part begins where the state is not what the call before left."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.recorded_at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        self.state: State = {}
        self.parts: list[dict[str, Any]] = []

    def lines(self) -> Iterator[dict[str, Any]]:
        for number, part in enumerate(self.parts, start=1):
            name = self.name if number == 1 else f"{self.name} ({number})"
            yield {"task": name, "recorded_at": self.recorded_at, **part}


class _PendingCall(NamedTuple):
    task: _RecordedTask
    arguments: Any
    state: State  # before the call


def record(
    function: F, *, directory: str | os.PathLike[str] = "recording", snapshot: Snapshot | None = None
) -> F:
    """Record the calls of one function. Functions with the same folder share one `Recording`."""
    place = Path(directory).resolve()
    known = _SHARED.get(place)
    if known is None:
        known = _SHARED[place] = Recording(place, snapshot=snapshot)
    elif snapshot is not None:
        known._snapshot = known._snapshot or snapshot
    return known.record(function)


_SHARED: dict[Path, Recording] = {}


def error_reply(error: Exception) -> dict[str, Any]:
    """How a recording keeps an exception: its class as the code, its text as the message."""
    return {"error": {"code": type(error).__name__, "message": str(error)}}


def masked(value: Any, secrets: Iterable[str] = ()) -> Any:
    """The value with every secret replaced by `[secret 1]`, `[secret 2]`, …: equal secrets stay equal."""
    found = dict.fromkeys([*secrets, *_secret_values(value)])
    names = {text: f"[secret {number}]" for number, text in enumerate(found, start=1)}
    # Longer secrets first; without any, a pattern that nothing matches.
    pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))) or r"(?!)")

    def mask(part: Any) -> Any:
        if isinstance(part, str):
            return pattern.sub(lambda match: names[match[0]], part)
        if isinstance(part, dict):
            return {
                mask(key): _NUMBER if _is_secret_number(key, each) else mask(each)
                for key, each in part.items()
            }
        if isinstance(part, list):
            return [mask(each) for each in part]
        return part

    return mask(value)


def _secret_values(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _secret_values(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from _secret_values(each, key)
    elif isinstance(value, str) and len(value) >= SHORTEST_SECRET and _is_secret_name(key):
        yield value


def _is_secret_number(key: str, value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and _is_secret_name(key)


def _is_secret_name(key: str) -> bool:
    return SECRET_NAMES.search(_CAMEL.sub("_", key)) is not None


def _running_test() -> str | None:
    """`tests/test_refunds.py::test_late (call)`, as pytest names the test that runs, without its phase."""
    name = os.environ.get("PYTEST_CURRENT_TEST")
    return name.rpartition(" ")[0] if name else None


@contextmanager
def _only_writer(directory: Path) -> Iterator[None]:
    with (directory / ".lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    temporary.replace(path)
