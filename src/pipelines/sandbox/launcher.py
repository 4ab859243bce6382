"""The process that starts sandboxes: small, single-threaded, and their parent for as long as it lives.

Run as a script by `launcher_client.py`, which alone talks to it. A process of its own, because a server is
large to fork and has threads (so nothing may run between its fork and exec), and because sandboxes die with
the *thread* that started them. Needs the standard library only; runs with the rights of the server.
"""

import ctypes
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from pipelines.sandbox import layered
else:  # a script sees nothing but the standard library: what lies beside it is taken by its place
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import layered

    del sys.path[0]

# What a started process finds at these numbers; 1 and 2 are its output.
CONTROL, STATUS, SECCOMP, ARGUMENTS = 3, 4, 5, 6
LARGEST_REQUEST = 64 * 1024
FAILED_TO_START = 125
# Only ever covered in a mount namespace of the sandbox's own; nothing that is needed is likely to be there.
STAGE = "/mnt" if os.path.isdir("/mnt") else "/tmp"

_CLONE_NEWNS = 0x00020000
_MS_RDONLY, _MS_BIND, _MS_REC, _MS_PRIVATE = 1, 4096, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    given = (source.encode(), target.encode(), kind.encode(), flags, options.encode())
    _check(_libc.mount(*given), f"mount {target}")


def _stage(request: dict[str, Any]) -> None:
    """Shows each source under STAGE and covers the hidden folders, for this process and its children alone.

    A dropped uid cannot walk through other people's folders (/root is 0700); it can read what is staged. The
    sources are opened first, so that a source under STAGE or in a hidden folder is not covered.
    """
    _check(_libc.unshare(_CLONE_NEWNS), "unshare mounts")
    _mount("none", "/", "none", _MS_REC | _MS_PRIVATE)
    opened = {name: os.open(source, os.O_PATH) for name, source in request["stage"].items()}
    shared = request["layered"]
    below = os.open(shared["below"], os.O_PATH) if shared.get("below") else -1
    for folder in request["hidden"]:
        if os.path.isdir(folder):
            _mount("tmpfs", folder, "tmpfs", _MS_RDONLY, "mode=755,size=4k")
    _mount("tmpfs", STAGE, "tmpfs", 0, "mode=755,size=64k")
    for name, handle in opened.items():
        target = f"{STAGE}/{name}"
        os.mkdir(target)
        _mount(f"/proc/self/fd/{handle}", target, "none", _MS_BIND | _MS_REC)
        os.close(handle)
    if below >= 0:
        layered.mount_layered(below, STAGE, uid=request["uid"], size=shared["bytes"])
        os.close(below)
    elif shared:
        layered.mount_memory(STAGE, uid=request["uid"], size=shared["bytes"])


def _memory_file(content: bytes) -> int:
    file = os.memfd_create("given")
    os.write(file, content)
    os.lseek(file, 0, os.SEEK_SET)
    return file


def _become(request: dict[str, Any], program: bytes, handles: list[int]) -> None:
    """In the child: everything between fork and exec."""
    signal.set_wakeup_fd(-1)
    for name in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(name, signal.SIG_DFL)
    files = [_memory_file(program), _memory_file("\0".join(request["arguments"]).encode())]
    # Moved out of the way first: a handle may itself have one of the low numbers.
    high = [os.dup2(handle, 200 + place) for place, handle in enumerate([*handles, *files])]
    control, stdout, stderr, status, seccomp, arguments = high
    nothing = os.open("/dev/null", os.O_RDONLY)
    for source, number in ((nothing, 0), (stdout, 1), (stderr, 2)):
        os.dup2(source, number)
    for group in request["cgroups"]:
        with open(os.path.join(group, "cgroup.procs"), "w") as procs:
            procs.write("0")
    os.nice(request["nice"])  # and no way back: that needs a right
    with suppress(OSError):  # a container may forbid it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    if request["stage"]:
        _stage(request)
    if request["uid"] is not None:
        os.setgroups([])
        os.setresgid(*[request["uid"]] * 3)
        os.setresuid(*[request["uid"]] * 3)
    if request["dies_with_us"]:
        os.setsid()
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # kept over exec: its orphans stay below it
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for source, number in ((control, CONTROL), (status, STATUS), (seccomp, SECCOMP), (arguments, ARGUMENTS)):
        os.dup2(source, number)
    os.closerange(ARGUMENTS + 1, 256)
    os.chdir("/")
    os.execve(request["argv"][0], request["argv"], {"LANG": "C.UTF-8"})


def _launch(request: dict[str, Any], program: bytes, handles: list[int]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _become(request, program, handles)
    except BaseException as error:  # noqa: BLE001 - this is the end of a forked child: it must never go on
        os.write(2, f"{error}\n".encode())
    os._exit(FAILED_TO_START)


def _descendants(pid: int) -> list[int]:
    found = []
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        below: list[int] = []
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{one}/task"):  # children belong to the thread that forked them
                with open(f"/proc/{one}/task/{thread}/children") as children:
                    below += map(int, children.read().split())
        found += below
        waiting += below
    return found


def _kill(pid: int) -> None:
    for one in [*_descendants(pid), pid]:  # it last: while it lives, what it leaves stays below it
        with suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)


class _Launcher:
    def __init__(self, server: socket.socket, program: bytes) -> None:
        self.server = server
        self.program = program
        self.started: dict[int, int] = {}  # the server's name for it -> pid

    def serve(self) -> None:
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        waiting = select.poll()
        waiting.register(self.server, select.POLLIN)
        waiting.register(woken, select.POLLIN)
        while True:
            ready = {handle for handle, _ in waiting.poll()}
            if woken in ready:
                os.read(woken, 4096)
                self.reap()
            if self.server.fileno() in ready and not self.obey():
                return

    def obey(self) -> bool:
        """One request; False when the server is gone."""
        data, handles, _, _ = socket.recv_fds(self.server, LARGEST_REQUEST, 4)
        if not data:
            return False
        request = json.loads(data)
        if "kill" in request:
            pid = self.started.get(request["kill"])
            if pid is not None:
                _kill(pid)
        else:
            try:
                self.started[request["id"]] = _launch(request, self.program, handles)
            except OSError:  # no more processes
                self.tell(request["id"], FAILED_TO_START)
        for handle in handles:
            os.close(handle)
        return True

    def reap(self) -> None:
        names = {pid: name for name, pid in self.started.items()}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = names.get(pid)
            if name is not None:  # else an orphan of one that is gone
                del self.started[name]
                code = os.waitstatus_to_exitcode(status)
                self.tell(name, code)

    def tell(self, name: int, code: int) -> None:
        self.server.send(json.dumps({"id": name, "code": code}).encode())

    def end(self) -> None:
        for pid in _descendants(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while True:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return


def main() -> None:
    """argv: the number of the socket to the server, and the seccomp program in hex."""
    server = socket.socket(fileno=int(sys.argv[1]))
    server.set_inheritable(False)
    # Orphans come to us, not to pid 1: a container often has nobody there who would reap them.
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides
    launcher = _Launcher(server, bytes.fromhex(sys.argv[2]))
    try:
        launcher.serve()
    except ConnectionError:
        pass  # the server is gone
    finally:
        launcher.end()


if __name__ == "__main__":
    main()
