"""Code that means harm: each attack has a clear outcome, and the `boxes` fixture finds the host as it was."""

import errno
import os
import platform
import secrets
import socket
import sys
from pathlib import Path

import pytest
from boxes import TOKEN, Answerer, Boxes, boxes_in

from pipelines.sandbox.job import MEBIBYTE, CodeErrorKind
from pipelines.sandbox.memory import NICE
from pipelines.sandbox.pool import CannotIsolate
from pipelines.sandbox.seccomp import _DENIED, _MACHINES

#: What follows is tried; what comes back is the error that stopped it, or "done".
ATTEMPT = """
import ctypes, os, signal, socket, subprocess, sys, errno
def attempt(task_input):
{body}
def run(task_input, **_):
    try:
        attempt(task_input)
    except OSError as error:
        return {{"stopped": errno.errorcode.get(error.errno, type(error).__name__)}}
    return "done"
"""


def stopped(boxes: Boxes, body: str, **task_input: object) -> str:
    lines = "\n".join("    " + line for line in body.splitlines())
    result = boxes.value(ATTEMPT.format(body=lines), task_input=task_input)
    assert result != "done", f"nothing stopped: {body}"
    return str(result["stopped"])


# Files


@pytest.mark.parametrize("path", ["/etc/shadow", "/root/.ssh", "/home", "/var", "/proc/1/root/etc/shadow"])
def test_files_of_the_machine_are_not_there(boxes: Boxes, path: str) -> None:
    assert stopped(boxes, "os.stat(task_input['path'])", path=path) in ("ENOENT", "EACCES")


def test_another_runs_folder_cannot_be_read(boxes: Boxes) -> None:
    other = boxes.source("SECRET = 1")
    for path in (other, other / "agent.py", Path(__file__), boxes.folder):
        assert stopped(boxes, "os.stat(task_input['path'])", path=str(path)) == "ENOENT"


@pytest.mark.parametrize("path", ["/", "/usr", "/etc", "/job/agent", "/sbx", "/dev", "/proc/sys/kernel"])
def test_nothing_can_be_written_but_the_working_folders(boxes: Boxes, path: str) -> None:
    found = stopped(boxes, "open(task_input['path'] + '/new', 'w')", path=path)
    assert found in ("EROFS", "EACCES", "EPERM", "ENOENT")


def test_code_cannot_delete_or_change_its_own_files(boxes: Boxes) -> None:
    assert stopped(boxes, "os.remove('/job/agent/agent.py')") == "EROFS"
    assert stopped(boxes, "os.chmod('/job/agent/agent.py', 0o777)") == "EROFS"
    assert stopped(boxes, "import shutil; shutil.rmtree('/job')") in ("EROFS", "EBUSY", "EACCES")


def test_an_environment_is_read_only(boxes: Boxes, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    tmp_path.chmod(0o755)
    code = "def run(task_input, **_):\n    open('/env/lib/new', 'w')"
    error = boxes.error(code, CodeErrorKind.EXCEPTION, environment=tmp_path)
    assert "Read-only file system" in error.message
    assert list((tmp_path / "lib").iterdir()) == []


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm", "/job", "/job/workspace"])
def test_the_disk_cannot_be_filled(boxes: Boxes, folder: str) -> None:
    code = f"""
    import os
    def run(task_input, **_):
        written = 0
        try:
            for number in range(400):
                with open(f"{folder}/{{number}}", "wb", buffering=0) as file:
                    written += file.write(bytes(1 << 20))
        except OSError as error:
            return {{"error": error.errno, "written": written}}
    """
    result = boxes.value(code)
    assert result["error"] == 28  # no space left on device
    assert result["written"] <= 64 * MEBIBYTE


def test_a_single_file_has_a_limit_of_its_own(boxes: Boxes) -> None:
    code = "def run(task_input, **_):\n    open('/tmp/one', 'wb').write(bytes(3 << 20))"
    assert "too large" in boxes.error(code, CodeErrorKind.EXCEPTION, file_bytes=MEBIBYTE).message


# The network


def test_the_hosts_loopback_is_out_of_reach(boxes: Boxes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        port = tcp.getsockname()[1]
        body = "socket.create_connection(('127.0.0.1', task_input['port']), 3)"
        assert stopped(boxes, body, port=port) == "ECONNREFUSED"
        code = """
        import socket
        def run(task_input, **_):
            socket.socket(type=socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", task_input["port"]))
            return "sent into its own loopback"
        """
        boxes.value(code, task_input={"port": udp.getsockname()[1]})
        with pytest.raises(BlockingIOError):
            udp.recv(10)


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
@pytest.mark.parametrize("address", ["192.0.2.1", "169.254.169.254", "10.0.0.1"])
def test_other_addresses_are_out_of_reach(boxes: Boxes, address: str, kind: str) -> None:
    body = f"socket.socket(socket.AF_INET, socket.{kind}).connect(('{address}', 53))"
    assert stopped(boxes, body) == "ENETUNREACH"


def test_names_are_not_resolved(boxes: Boxes) -> None:
    assert stopped(boxes, "socket.getaddrinfo('example.com', 80)") == "gaierror"
    assert boxes.value(
        "import socket\ndef run(t, **_):\n    return socket.getaddrinfo('localhost', 80)[0][4][0]"
    ) in ("127.0.0.1", "::1")


def test_abstract_unix_sockets_of_the_host_are_out_of_reach(boxes: Boxes) -> None:
    name = f"odyssey-{secrets.token_hex(4)}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0" + name)
        server.listen()
        body = "socket.socket(socket.AF_UNIX).connect(chr(0) + task_input['name'])"
        assert stopped(boxes, body, name=name) == "ECONNREFUSED"


@pytest.mark.parametrize(
    "made",
    ["40, 1", "17, 3", "16, 3", "2, 3, 1", "10, 3, 58", "31, 3", "38, 5", "44, 3"],
    ids=["vsock", "packet", "netlink", "raw", "raw6", "bluetooth", "alg", "xdp"],
)
def test_only_plain_sockets_can_be_made(boxes: Boxes, made: str) -> None:
    assert stopped(boxes, f"socket.socket({made})") == "EPERM"


def test_a_run_has_only_so_many_connections_at_a_time(boxes: Boxes) -> None:
    code = """
    import threading, urllib.request
    def run(task_input, *, proxy_url, run_token):
        seen = []
        def call(number):
            seen.append(urllib.request.urlopen(f"{proxy_url}/{number}").status)
        threads = [threading.Thread(target=call, args=(number,)) for number in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        return {"seen": seen}
    """
    proxy = Answerer()
    assert boxes.value(code, serve=proxy, connections=3)["seen"] == [200] * 20
    assert 1 <= proxy.most_at_once <= 3
    assert len(set(proxy.paths)) == 20


# Other processes, and the kernel


def test_the_hosts_processes_and_folders_are_not_in_proc(boxes: Boxes) -> None:
    code = """
    import os
    def run(task_input, **_):
        seen = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                for part in ("environ", "cmdline"):
                    try: seen[f"{name}/{part}"] = open(f"/proc/{name}/{part}", errors="replace").read()
                    except OSError as error: seen[f"{name}/{part}"] = str(error)
        return seen
    """
    seen = boxes.value(code)
    assert {int(name.split("/")[0]) for name in seen} <= {1, 2, 3}
    assert not any("pytest" in text for text in seen.values())
    assert not any(TOKEN in text for text in seen.values())


def test_signals_reach_nobody_else(boxes: Boxes) -> None:
    code = """
    import os, signal
    def run(task_input, **_):
        for target in (1, os.getppid(), -1):
            for number in (signal.SIGTERM, signal.SIGKILL):
                try: os.kill(target, number)
                except ProcessLookupError: pass  # of -1: there is nobody else
        try:
            os.kill(task_input["pid"], signal.SIGKILL)
        except ProcessLookupError:
            return "still here"
    """
    assert boxes.value(code, task_input={"pid": os.getpid()}) == "still here"


WORST = {
    "ptrace", "process_vm_writev", "mount", "move_mount", "unshare", "setns", "chroot", "open_by_handle_at",
    "io_uring_setup", "keyctl", "add_key", "bpf", "userfaultfd", "perf_event_open", "memfd_create", "shmget",
    "msgget", "semget", "kexec_load", "init_module", "finit_module", "pidfd_getfd",
}  # fmt: skip


def test_no_denied_system_call_works(boxes: Boxes) -> None:
    code = """
    import ctypes
    def run(task_input, **_):
        libc = ctypes.CDLL(None, use_errno=True)
        found = {}
        for name, number in task_input.items():
            ctypes.set_errno(0)
            found[name] = [libc.syscall(number, 0, 0, 0, 0, 0, 0), ctypes.get_errno()]
        return found
    """
    assert set(_DENIED) >= WORST
    column = _MACHINES[platform.machine()].column
    numbers = {name: columns[column] for name, columns in _DENIED.items() if columns[column] is not None}
    found = boxes.value(code, task_input=numbers)
    assert found == {name: [-1, 1] for name in numbers}  # EPERM


def test_mounts_and_namespaces_cannot_be_made(boxes: Boxes) -> None:
    mount = "libc = ctypes.CDLL(None, use_errno=True)\n"
    mount += "if libc.mount(b'none', b'/tmp', b'tmpfs', 0, None): raise OSError(ctypes.get_errno(), '')"
    assert stopped(boxes, mount) == "EPERM"
    clone = "libc = ctypes.CDLL(None, use_errno=True)\n"
    clone += f"pid = libc.syscall({_MACHINES[platform.machine()].clone}, 0x10000000 | 17, 0, 0, 0, 0)\n"
    clone += "if pid == 0: os._exit(0)\nif pid < 0: raise OSError(ctypes.get_errno(), '')"
    assert stopped(boxes, clone) == "EPERM"
    clone3 = "libc = ctypes.CDLL(None, use_errno=True)\n"
    clone3 += "if libc.syscall(435, 0, 0) < 0: raise OSError(ctypes.get_errno(), '')"
    assert stopped(boxes, clone3) == "ENOSYS"
    newest = clone3.replace("435", "463")
    assert stopped(boxes, newest) == "ENOSYS"


def test_there_are_no_rights_to_regain(boxes: Boxes) -> None:
    assert stopped(boxes, "os.setuid(0)") in ("EPERM", "EINVAL")  # there is no such user inside
    assert stopped(boxes, "os.setgroups([0])") == "EPERM"
    assert stopped(boxes, "os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))") == "EPERM"
    code = "def run(t, **_):\n    return open('/proc/self/status').read()"
    lines = dict(line.split(":\t", 1) for line in boxes.value(code).splitlines())
    assert {name: lines[name].strip("0 ") for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {
        "CapInh": "", "CapPrm": "", "CapEff": "", "CapBnd": "", "CapAmb": ""
    }  # fmt: skip
    assert (lines["Seccomp"], lines["NoNewPrivs"]) == ("2", "1")


@pytest.mark.parametrize("hidden", ["/usr/share", f"{sys.base_prefix}/include"], ids=["system", "python"])
def test_a_folder_of_the_server_in_a_folder_that_is_shown_is_empty_inside(
    tmp_path: Path, hidden: str
) -> None:
    """Also where everybody on the machine may read it."""
    folder = Path(hidden).resolve()
    assert list(folder.iterdir())
    code = """
    import os
    def run(task_input, **_):
        return {"hidden": os.listdir(task_input["hidden"]), "shown": bool(os.listdir(task_input["shown"]))}
    """
    with boxes_in(
        tmp_path, hidden=(folder, next(path for path in folder.iterdir() if path.is_dir()))
    ) as boxes:
        seen = boxes.value(code, task_input={"hidden": str(folder), "shown": "/usr/lib"})
    assert seen == {"hidden": [], "shown": True}


def test_code_that_lies_in_a_hidden_folder_still_runs(tmp_path: Path) -> None:
    with boxes_in(tmp_path, hidden=(tmp_path,)) as boxes:
        assert boxes.value("def run(task_input, **_):\n    return 'here'") == "here"


@pytest.mark.parametrize("folder", ["/usr", "/usr/lib", f"{sys.base_prefix}/lib"])
def test_where_a_folder_of_the_server_cannot_be_hidden_no_code_is_run(tmp_path: Path, folder: str) -> None:
    with (
        pytest.raises(CannotIsolate, match="move the data directory"),
        boxes_in(tmp_path, hidden=(Path(folder).resolve(),)),
    ):
        pass


def test_code_has_a_smaller_share_of_the_cpu_and_cannot_take_it_back(boxes: Boxes) -> None:
    code = """
    import os, time
    def run(task_input, **_):
        def session(): return [line.split()[-1] for line in open("/proc/self/autogroup")]
        ends = time.monotonic() + 5  # a normal user may set it ten times a second, for all sandboxes together
        while task_input["nice"] not in session() and time.monotonic() < ends: time.sleep(0.02)
        shares = [os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0) == os.SCHED_BATCH, *session()]
        errors = []
        for attempt in (lambda: os.setpriority(os.PRIO_PROCESS, 0, 0), lambda: os.nice(-1),
                        lambda: open("/proc/self/autogroup", "w").write("0"),
                        lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))):
            try: attempt()
            except OSError as error: errors.append(error.errno)
        return {"shares": shares, "errors": errors}
    """
    if not os.path.exists("/proc/self/autogroup"):
        pytest.skip("this kernel does not share the CPU by sessions")
    seen = boxes.value(code, task_input={"nice": str(NICE)})
    nicer = min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19)  # than whoever runs the tests; 19 is the most
    assert seen["shares"] == [nicer, True, str(NICE)]
    assert seen["errors"] == [errno.EACCES, errno.EPERM, errno.EROFS, errno.EPERM]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop to another user")
def test_under_root_the_sandbox_has_a_user_of_its_own(boxes: Boxes) -> None:
    owners: set[int] = set()

    async def serve(connection: socket.socket) -> None:
        owners.update(os.stat(f"/proc/{pid}").st_uid for pid in boxes.processes())
        await Answerer()(connection)

    boxes.value(CALLS_ONCE, serve=serve)
    assert owners
    assert all(60_000 <= owner < 61_000 for owner in owners)


CALLS_ONCE = """
import urllib.request
def run(task_input, *, proxy_url, run_token):
    return urllib.request.urlopen(proxy_url + "/tools/x").read().decode()
"""


def test_tokens_and_secrets_are_in_no_argument_list(boxes: Boxes) -> None:
    seen: list[str] = []

    async def serve(connection: socket.socket) -> None:
        for pid in [boxes.launcher_pid, *boxes.processes()]:
            for part in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{part}", errors="replace") as file:  # noqa: ASYNC230
                    seen.append(file.read())
        await Answerer()(connection)

    boxes.value(CALLS_ONCE, serve=serve, env={"API_KEY": "secret-8812"})
    assert any("bwrap" in text for text in seen)
    assert not any(TOKEN in text or "secret-8812" in text for text in seen)


# Too much of something


def test_a_fork_bomb_stops_at_its_limit(boxes: Boxes) -> None:
    code = """
    import os, signal
    def run(task_input, **_):
        count = 0
        try:
            while True:
                if os.fork() == 0: signal.pause()
                count += 1
        except BlockingIOError:
            return {"forks": count}
    """
    assert 20 <= boxes.value(code)["forks"] < 64


def test_threads_stop_at_the_same_limit_and_do_not_hold_up_the_end(boxes: Boxes) -> None:
    code = """
    import threading
    def run(task_input, **_):
        count = 0
        try:
            while True:
                threading.Thread(target=threading.Event().wait).start()
                count += 1
        except RuntimeError:
            return {"threads": count}
    """
    assert 20 <= boxes.value(code)["threads"] < 64


def test_daemons_do_not_outlive_their_run(boxes: Boxes) -> None:
    code = """
    import os, signal
    def run(task_input, **_):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                while True: signal.pause()
            os._exit(0)
        os.wait()
        return "left one behind"
    """
    assert boxes.value(code) == "left one behind"  # and the fixture finds no process


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "import signal\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    while True: signal.pause()",
        "import os, signal\n    os.fork()\n    while True: signal.pause()",
        "import os\n    os.write(3, bytes([0, 0, 1, 0]) + b'half a frame')\n    while True: pass",
        "while True: print('x' * 10_000)",
    ],
    ids=["loops", "ignores signals", "forks", "sends half a frame", "floods"],
)
def test_what_never_ends_is_ended(boxes: Boxes, body: str) -> None:
    code = f"def run(task_input, **_):\n    {body}\n"
    error = boxes.error(code, CodeErrorKind.TIMEOUT, wall_s=0.6)
    assert "0.6 s" in error.message


def test_a_flood_of_output_is_cut_in_the_middle(boxes: Boxes) -> None:
    code = """
    import sys
    def run(task_input, **_):
        print("the beginning")
        for _ in range(40):
            sys.stdout.write("x" * 100_000)
            sys.stderr.write("y" * 10_000)
        print("\\nthe end")
        return "ok"
    """
    outcome = boxes.run(code, output_bytes=10_000)
    assert outcome.result == "ok"
    assert outcome.stdout.startswith("the beginning")
    assert outcome.stdout.endswith("the end\n")
    whole = len("the beginning\n") + 40 * 100_000 + len("\nthe end\n")
    assert f"[... {whole - 10_000} bytes dropped ...]" in outcome.stdout
    assert len(outcome.stdout) < 10_100
    assert "[... 390000 bytes dropped ...]" in outcome.stderr


def test_memory_of_one_process_is_limited(boxes: Boxes) -> None:
    code = "def run(task_input, **_):\n    return len(bytearray(1 << 30))"
    error = boxes.error(code, CodeErrorKind.OUT_OF_MEMORY)
    assert "512 MiB" in error.message
    assert error.traceback is not None
    assert "bytearray" in error.traceback


@pytest.mark.parametrize("kind", ["page tables", "files"])
def test_memory_that_the_kernel_keeps_for_it_is_limited(boxes: Boxes, kind: str) -> None:
    code = """
    import mmap, os, signal
    def run(task_input, **_):
        if task_input["kind"] == "files":
            for number in range(200_000): os.close(os.open(f"/tmp/{number}", os.O_CREAT | os.O_WRONLY))
        else:
            held = mmap.mmap(-1, 256 << 30, prot=mmap.PROT_READ, flags=mmap.MAP_PRIVATE | 0x4000)
            for place in range(0, 256 << 30, 2 << 20): held[place]
        while True: signal.pause()
    """
    boxes.error(code, CodeErrorKind.OUT_OF_MEMORY, memory_bytes=128 * MEBIBYTE, task_input={"kind": kind})


@pytest.mark.parametrize("kind", ["children", "shared"])
def test_memory_of_all_processes_together_is_limited(boxes: Boxes, kind: str) -> None:
    code = """
    import mmap, os, signal
    def run(task_input, **_):
        if task_input["kind"] == "shared":
            held = mmap.mmap(-1, 300 << 20)
            for place in range(0, 300 << 20, 4096): held[place] = 1
        else:
            for _ in range(6):
                if os.fork() == 0:
                    held = bytearray(b"1") * (60 << 20)
                    while True: signal.pause()
        while True: signal.pause()
    """
    boxes.error(code, CodeErrorKind.OUT_OF_MEMORY, memory_bytes=128 * MEBIBYTE, task_input={"kind": kind})


def test_shared_pages_are_counted_once(boxes: Boxes) -> None:
    code = """
    import os, signal, time
    def run(task_input, **_):
        held = bytearray(b"1") * (60 << 20)
        for _ in range(6):
            if os.fork() == 0:
                while True: signal.pause()
        time.sleep(0.5)
        return 'ok'
    """
    assert boxes.value(code, memory_bytes=160 * MEBIBYTE) == "ok"


# What comes back


@pytest.mark.parametrize(
    ("value", "kind", "says"),
    [
        ("(lambda x: x.append(x) or {'a': x})([])", CodeErrorKind.BAD_RESULT, "Circular"),
        ("'x' * (100 << 20)", CodeErrorKind.TOO_LARGE, "100 MiB"),
        ("{'final_response': 'x' * (9 << 20)}", CodeErrorKind.TOO_LARGE, "9 MiB"),
        ("None", CodeErrorKind.BAD_RESULT, "nothing"),
        ("['a']", CodeErrorKind.BAD_RESULT, "list"),
        ("7", CodeErrorKind.BAD_RESULT, "int"),
        ("{'a': {1, 2}}", CodeErrorKind.BAD_RESULT, "set"),
        ("{'a': float('nan')}", CodeErrorKind.BAD_RESULT, "JSON"),
        ("{'a': chr(0xd800)}", CodeErrorKind.BAD_RESULT, "JSON"),
        ("{'a': 1, 'b': object()}", CodeErrorKind.BAD_RESULT, "object"),
        ("__import__('functools').reduce(lambda x, _: [x], range(500), 0)", CodeErrorKind.BAD_RESULT, "64"),
        ("{'a': 10 ** 10_000}", CodeErrorKind.BAD_RESULT, "JSON"),
    ],
)  # fmt: skip
def test_a_result_that_cannot_be_taken(boxes: Boxes, value: str, kind: CodeErrorKind, says: str) -> None:
    error = boxes.error(f"def run(task_input, **_):\n    return {value}", kind)
    assert says in error.message


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ("import sys; sys.exit(3)", CodeErrorKind.EXITED, "sys.exit(3)"),
        ("raise SystemExit('bye')", CodeErrorKind.EXITED, "bye"),
        ("import os; os._exit(3)", CodeErrorKind.EXITED, "status 3"),
        ("import os; os._exit(0)", CodeErrorKind.EXITED, "status 0"),
        ("import os; os.fork(); os._exit(4)", CodeErrorKind.EXITED, "status 4"),
        ("import os; os.abort()", CodeErrorKind.KILLED, "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", CodeErrorKind.KILLED, "SIGSEGV"),
        ("import os; os.kill(os.getpid(), 9)", CodeErrorKind.KILLED, "SIGKILL"),
        ("import os; os.execv('/bin/true', ['true'])", CodeErrorKind.EXITED, "status 0"),
        ("raise KeyboardInterrupt", CodeErrorKind.EXCEPTION, "KeyboardInterrupt"),
        ("raise type('Odd', (Exception,), {'__str__': lambda s: 1 / 0})", CodeErrorKind.EXCEPTION, "cannot"),
        ("def f(): f()\n    f()", CodeErrorKind.EXCEPTION, "recursion"),
    ],
)
def test_a_process_that_ends_its_own_way(boxes: Boxes, body: str, kind: CodeErrorKind, says: str) -> None:
    assert says in boxes.error(f"def run(task_input, **_):\n    {body}", kind).message


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("os.write(3, b'\\xff\\xff\\xff\\xff' + bytes(1000))", CodeErrorKind.TOO_LARGE),
        ("os.write(3, b'\\0\\0\\0\\5hello')", CodeErrorKind.BAD_RESULT),
        ("os.write(3, b'\\0\\0\\0\\2[]')", CodeErrorKind.BAD_RESULT),
        ('send(b\'{"kind": "sandbox_failed", "message": "x"}\')', CodeErrorKind.BAD_RESULT),
        ('send(b\'{"kind": "result", "json": 7}\')', CodeErrorKind.BAD_RESULT),
        ('send(b\'{"kind": "result", "json": "{"}\')', CodeErrorKind.BAD_RESULT),
        ('send(b\'{"kind": "too_large", "size": "many"}\')', CodeErrorKind.TOO_LARGE),
        ("send(b'[' * 100_000)", CodeErrorKind.BAD_RESULT),
        ('send(b\'{"kind": "exception", "message": {}, "exception": 1}\')', CodeErrorKind.EXCEPTION),
        ("os.closerange(0, 256)", CodeErrorKind.EXITED),
        ("os.dup2(os.open('/dev/null', os.O_RDWR), 3); time.sleep(0)", CodeErrorKind.EXITED),
    ],
)
def test_garbage_on_the_control_socket(boxes: Boxes, body: str, kind: CodeErrorKind) -> None:
    code = f"""
    import os, struct, time
    def send(data): os.write(3, struct.pack(">I", len(data)) + data)
    def run(task_input, **_):
        {body}
        return "never heard"
    """
    boxes.error(code, kind)


def test_handles_sent_to_the_host_are_dropped(boxes: Boxes) -> None:
    code = """
    import os, socket
    def run(task_input, **_):
        control = socket.socket(fileno=os.dup(3))
        frame = b'{"kind": "result", "json": "\\\\"forged\\\\""}'
        handles = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
        socket.send_fds(control, [len(frame).to_bytes(4, "big") + frame], handles)
        while True: pass
    """
    before = len(os.listdir("/proc/self/fd"))
    assert boxes.value(code) == "forged"  # it may lie, but only about its own result
    # Others in this process may open one meanwhile; a hundred were sent.
    assert len(os.listdir("/proc/self/fd")) < before + 10


def test_replaced_modules_do_not_stop_the_driver(boxes: Boxes) -> None:
    code = """
    import json, os, socket, struct, sys
    def run(task_input, **_):
        json.loads = socket.socket.sendall = struct.pack = None
        sys.stdout = sys.stderr = None
        return "told all the same"
    """
    outcome = boxes.run(code)
    assert outcome.result == "told all the same" or outcome.error is not None
