"""Runs inside the sandbox, before and around the user's code: opens the proxy's door, takes a job, calls it.

Nothing here is trusted by the host once user code has begun: it shares this process. Standard library only,
and little of it, because every import is part of a cold start.
"""

from __future__ import annotations

import json
import os
import resource
import select
import socket
import struct
import sys
import time

TYPE_CHECKING = False  # the real one is in a module that a cold start has no time for
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Message = dict[str, Any]

CONTROL = 3
#: Most agents need these; they are loaded while the sandbox waits for its job.
PRELOADED = ("http.client", "urllib.request", "importlib.util", "traceback", "asyncio")
LONGEST_MESSAGE = 2_000
LONGEST_TRACEBACK = 16_000
OURS = {__file__}  # whose frames are left out of tracebacks


class Host:
    """The control socket: frames of JSON, each behind its length in four bytes."""

    def __init__(self) -> None:
        self._socket = socket.socket(fileno=CONTROL)
        self._socket.set_inheritable(False)
        # Kept here, since user code may replace what the modules hold.
        self._dumps = json.dumps

    def send(self, message: Message, handles: Sequence[int] = ()) -> None:
        data = self._dumps(message).encode()
        frame = struct.pack(">I", len(data)) + data
        if handles:
            socket.send_fds(self._socket, [frame], handles)
        else:
            self._socket.sendall(frame)

    def send_frame(self, data: bytes) -> None:
        self._socket.sendall(struct.pack(">I", len(data)) + data)

    def has_news(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0])

    def receive(self) -> Message:
        (length,) = struct.unpack(">I", self._exactly(4))
        received: Message = json.loads(self._exactly(length))
        return received

    def _exactly(self, count: int) -> bytearray:
        data = bytearray()
        while len(data) < count:
            part = self._socket.recv(min(count - len(data), 1 << 20))
            if not part:
                os._exit(0)  # the host has no job for this sandbox any more
            data += part
        return data


def write_frame(pipe: int, message: Message) -> None:
    frame = json.dumps(message).encode()
    data = struct.pack(">I", len(frame)) + frame
    while data:
        data = data[os.write(pipe, data) :]


def read_frame(pipe: int, child: int, largest: int, until: float | None = None) -> tuple[bytes | None, bool]:
    """A whole frame, and whether the time was over first. None when the child has ended without: another
    process of the call may hold the pipe."""
    handle = os.pidfd_open(child)
    data = bytearray()
    size = None
    try:
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        poll.register(handle, select.POLLIN)
        while size is None or len(data) < size + 4:
            left_s = 60.0 if until is None else until - time.monotonic()
            if left_s <= 0:
                return None, True
            ready = {one for one, _ in poll.poll(min(left_s, 60) * 1000)}
            if not ready:
                continue
            part = os.read(pipe, 1 << 16) if pipe in ready else b""
            if not part:
                return None, False
            data += part
            if size is None and len(data) >= 4:
                (size,) = struct.unpack(">I", data[:4])
                if size > largest:
                    return None, False
    finally:
        os.close(handle)
    return bytes(data[4 : size + 4]), False


def set_dumpable(value: int) -> None:
    """0: what runs beside this process, with the same uid, can neither read its memory nor write to it."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(4, value, 0, 0, 0)
    except Exception:  # noqa: BLE001 - a Python without ctypes: then only ptrace's own rules hold
        pass


def open_door(port: int) -> socket.socket:
    """The socket that user code will reach the proxy at; only the host accepts on it."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.bind(("127.0.0.1", port))
    door.listen(128)
    return door


def confinement() -> dict[str, str]:
    """What the kernel says about this process, for the host to check before it hands anything over."""
    names = {"CapEff", "NoNewPrivs", "Seccomp"}
    with open("/proc/self/status") as status:
        parts = (line.split(":", 1) for line in status)
        return {name: value.strip() for name, value in parts if name in names}


def preload(host: Host) -> None:
    for name in PRELOADED:
        if host.has_news():
            return
        __import__(name)


def confine(limits: Message) -> None:
    both = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_DATA: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if limits["processes"] is not None:
        both[resource.RLIMIT_NPROC] = limits["processes"]
    for name, value in both.items():
        hard = resource.getrlimit(name)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(name, (value, value))


def settle(job: Message) -> None:
    """Paths, variables and packages as the user's code expects them."""
    os.environ.clear()
    os.environ.update(job["env"])
    os.chdir(job["folder"])
    if job["site_packages"]:
        import site

        site.addsitedir(job["site_packages"])
        sys.executable = job["executable"]
    sys.path.insert(0, job["agent"])
    sys.argv = [os.path.join(job["agent"], job["file"])]


def load_file(folder: str, file: str) -> Any:
    """A module of the user's. Their file is named by its path, so that one called json.py works too."""
    import importlib
    import importlib.util

    path = os.path.join(folder, file)
    name = file.removesuffix(".py").replace("/", ".")
    parent = name.rpartition(".")[0]
    if parent:
        importlib.import_module(parent)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load(job: Message) -> Callable[..., Any]:
    module = load_file(job["agent"], job["file"])
    function: Callable[..., Any] | None = getattr(module, job["function"], None)
    if not callable(function):
        raise AttributeError(f"{job['file']} has no function {job['function']}")
    return function


def bind_envelope() -> Any:
    """With the SDK, straight-line code finds its run without handing it around. Bound while this is held."""
    import importlib.util

    try:
        if importlib.util.find_spec("pipelines.odyssey.context") is None:
            return None
        # By name: this is the copy that came with the code, not the server's own.
        envelope = importlib.import_module("pipelines.odyssey").Envelope.from_env()
        bound = importlib.import_module("pipelines.odyssey.context").set_current(envelope)
        bound.__enter__()
        return bound
    except Exception:  # noqa: BLE001 - a folder of theirs may have this name: their code decides what that means
        return None


def call(job: Message) -> Any:
    bound = bind_envelope()  # noqa: F841 - held until the end
    function = load(job)
    result = function(job["task_input"], proxy_url=job["proxy_url"], run_token=job["run_token"])
    if hasattr(result, "__await__"):
        import asyncio

        async def awaited() -> Any:
            return await result

        result = asyncio.run(awaited())
    return result


def cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def is_user_frame(frame: Any) -> Any:
    """A traceback from the user's first frame on: after our last one, and the import system's."""
    first = frame
    while frame:
        frame, name = frame.tb_next, frame.tb_frame.f_code.co_filename
        first = frame if name in OURS else first
    while first and first.tb_frame.f_code.co_filename.startswith("<frozen importlib"):
        first = first.tb_next
    return first


def describe_error(error: BaseException) -> Message:
    """An exception as words. Its own methods are the user's, and may fail too."""
    import traceback

    error.__traceback__ = is_user_frame(error.__traceback__)
    try:
        message = str(error)
    except BaseException:  # noqa: BLE001 - see above
        message = "(its text cannot be read)"
    try:
        lines = "".join(traceback.format_exception(error))
    except BaseException:  # noqa: BLE001 - see above
        lines = ""
    name = type(error).__name__
    # Names of files may hold what no text can: half of a surrogate pair.
    message, lines, name = (text.encode("utf-8", "replace").decode() for text in (message, lines, name))
    message, lines = cut(message, LONGEST_MESSAGE), cut(lines, LONGEST_TRACEBACK)
    return {"exception": name, "message": message, "traceback": lines}


def answer(job: Message, call: Callable[[Message], Any] = call) -> Message:
    """One frame: what came of the call."""
    try:
        value = call(job)
    except SystemExit as error:
        return {"kind": "exited", **describe_error(error)}
    except MemoryError as error:
        return {"kind": "out_of_memory", **describe_error(error)}
    except BaseException as error:  # noqa: BLE001 - whatever their code raises is its outcome
        return {"kind": "exception", **describe_error(error)}
    try:
        text = json.dumps(value, allow_nan=False)
    except MemoryError:
        return {"kind": "out_of_memory", "message": "no memory is left to write the result down"}
    except (TypeError, ValueError, RecursionError) as error:
        return {"kind": "bad_result", "message": cut(str(error), LONGEST_MESSAGE)}
    if len(text) > job["result_bytes"]:
        return {"kind": "too_large", "size": len(text)}
    return {"kind": "result", "json": text}


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 - contextlib is not loaded yet
            stream.flush()
        except BaseException:  # noqa: BLE001 - theirs, or closed
            pass


def main() -> None:
    os.closerange(CONTROL + 1, 256)
    host = Host()
    with open_door(int(sys.argv[1])) as door:
        greeting = {"port": door.getsockname()[1], "pid": os.getpid(), **confinement()}
        host.send(greeting, [door.fileno()])
    preload(host)
    job = host.receive()
    confine(job["limits"])
    try:
        settle(job)
    except BaseException as error:  # noqa: BLE001 - start-up files of the packages they require
        found = {"kind": "exception", **describe_error(error)}
    else:
        found = answer(job)
    flush()
    host.send(found)
    host.receive()  # nothing comes any more: the host ends this process, and with it everything it started


if __name__ == "__main__":
    main()
