"""Runs inside the sandbox of a code endpoint: imports its modules once, calls a function for each message.

Where the sandbox is one (its own pid namespace), every call is a fork of the process that has imported: it
begins with what the import left, whatever calls before it did. Then everything that the call started is
killed, and the host is told whether it left files: such a sandbox is not used again. An import that started
threads or processes cannot be forked from: then one call is made, in this process.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pipelines.sandbox.inside import driver
    from pipelines.sandbox.inside import function_values as values

    Message = dict[str, Any]
else:  # beside this file, and nowhere on the path of the user's code, which may have modules of these names
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import driver
    import function_values as values

    del sys.path[0], sys.modules["driver"], sys.modules["function_values"]

driver.OURS |= {__file__, values.__file__}

#: Folders in memory that a call may write to, and what is in them before.
WRITABLE = {"/tmp": set(), "/dev/shm": set(), "/job": {"agent", "workspace"}, "/job/workspace": set()}
_FIRST_PIDS = 10  # inside a pid namespace we are among its first: nobody else's processes are seen
_GONE_WITHIN = 100  # milliseconds for the killed to disappear


class Program:
    """The endpoint's modules, imported."""

    def __init__(self, job: Message) -> None:
        self._folder = job["agent"]
        self._modules = {file: driver.load_file(self._folder, file) for file in job["files"]}

    def function(self, entry: Message) -> Any:
        function = getattr(self._modules[entry["file"]], entry["function"], None)
        if function is None:
            raise AttributeError(f"{entry['file']} has no function {entry['function']}")
        return function

    def call(self, job: Message) -> Any:
        function = self.function(job)
        arguments = values.bound(function, job["arguments"])
        result = function(*arguments.args, **arguments.kwargs)
        if hasattr(result, "__await__"):
            import asyncio

            async def awaited() -> Any:
                return await result

            result = asyncio.run(awaited())
        result = values.plain(result)
        if problem := values.unwritable(result):
            raise Unwritable(problem)
        return result

    def describe(self, job: Message) -> Any:
        readers = values.readers_from(job["readers"])
        found = []
        for entry in self._list_functions(job["functions"]):
            try:
                function = self.function(entry)
            except AttributeError as error:
                found.append({**entry, "name": entry["function"], "problem": str(error)})
                continue
            found.append({**entry, **values.described(entry["function"], function, readers)})
        return found

    def _list_functions(self, entries: list[Message]) -> list[Message]:
        """With `function` null: each that the file itself defines, but for those that begin with `_`."""
        listed: list[Message] = []
        for entry in entries:
            if entry["function"] is not None:
                listed.append(entry)
                continue
            module = self._modules[entry["file"]]
            for name, value in vars(module).items():
                code = getattr(value, "__code__", None) or getattr(
                    getattr(value, "__wrapped__", None), "__code__", None
                )
                is_own = code is not None and code.co_filename == module.__file__
                if is_own and code and not name.startswith("_") and code.co_name != "<lambda>":
                    listed.append({"file": entry["file"], "function": name})
        return listed


class Unwritable(Exception):
    """A result that JSON has no form for."""


def answer(program: Program, job: Message) -> Message:
    work = program.describe if job["kind"] == "describe" else program.call
    try:
        found: Message = driver.answer(job, work)
    except BaseException as error:  # noqa: BLE001 - their classes may fail wherever they are looked at
        return {"kind": "exception", **driver.describe_error(error)}
    if found.get("exception") == "Unwritable":
        return {"kind": "bad_result", "message": found["message"]}
    return found


def in_child(program: Program, job: Message, pipe: int) -> None:
    try:
        os.close(driver.CONTROL)
        driver.set_dumpable(1)
        driver.confine(job["limits"])
        found = answer(program, job)
        driver.flush()
        driver.write_frame(pipe, found)
    finally:
        os._exit(0)


def run_in_fork(program: Program, job: Message) -> bytes | Message:
    """The child's own frame, or how it ended without one."""
    reading, writing = os.pipe()
    driver.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        in_child(program, job, writing)
    os.close(writing)
    try:
        frame, _ = driver.read_frame(reading, child, 2 * job["result_bytes"] + 128 * 1024)
    finally:
        os.close(reading)
    kill_all()
    _, status = os.waitpid(child, 0)
    if frame is not None:
        return frame
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return {"kind": "ended", "status": code}


def kill_all() -> None:
    """But for this process and the namespace's first, which signals from inside do not reach."""
    if os.getpid() >= _FIRST_PIDS:
        raise RuntimeError("this is not a sandbox: nothing is killed")
    try:  # noqa: SIM105 - contextlib may not be loaded yet
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def is_clean() -> bool:
    """Nothing is left of a call: no process, no file."""
    import time

    for _ in range(_GONE_WITHIN):
        if others() == 0:
            break
        time.sleep(0.001)
    else:
        return False
    return all(set(os.listdir(folder)) == there for folder, there in WRITABLE.items())


def others() -> int:
    known = {"1", str(os.getpid())}
    return sum(name.isdigit() and name not in known for name in os.listdir("/proc"))


def can_fork() -> bool:
    return os.getpid() < _FIRST_PIDS and len(os.listdir("/proc/self/task")) == 1 and others() == 0


def prepare(job: Message) -> Program | Message:
    """The modules imported, or what came of it."""
    driver.confine(job["limits"])
    try:
        driver.settle({**job, "file": job["files"][0]})
        return Program(job)
    except SystemExit as error:
        return {"kind": "exited", **driver.describe_error(error)}
    except MemoryError as error:
        return {"kind": "out_of_memory", **driver.describe_error(error)}
    except BaseException as error:  # noqa: BLE001 - whatever their code raises is its outcome
        return {"kind": "exception", **driver.describe_error(error)}


def main() -> None:
    os.closerange(driver.CONTROL + 1, 256)
    host = driver.Host()
    with driver.open_door(int(sys.argv[1])) as door:
        greeting = {"port": door.getsockname()[1], "pid": os.getpid(), **driver.confinement()}
        host.send(greeting, [door.fileno()])
    driver.preload(host)
    job = host.receive()
    program = prepare(job)
    driver.flush()
    if isinstance(program, dict):
        host.send(program)
        host.receive()
    assert isinstance(program, Program)
    forks = job["is_isolated"] and can_fork()
    host.send({"kind": "result", "json": "true" if forks else "false"})
    if forks:
        gc.collect()
        gc.freeze()  # a collection in a child would write to, and so copy, every page that it shares
        driver.set_dumpable(0)
        serve_forked(host, program)
    else:
        found = answer(program, host.receive())
        driver.flush()
        host.send(found)
        host.receive()


def serve_forked(host: Any, program: Program) -> None:
    while True:
        found = run_in_fork(program, host.receive())
        if isinstance(found, dict):
            host.send(found)
        else:
            host.send_frame(found)
        host.send({"clean": is_clean()})


if __name__ == "__main__":
    main()
