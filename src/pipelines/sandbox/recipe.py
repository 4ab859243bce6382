"""How a sandbox is built: which folders it sees and under which names, and the command that makes it."""

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipelines.sandbox import layered
from pipelines.sandbox.cgroups import Group
from pipelines.sandbox.launcher import ARGUMENTS, SECCOMP, STAGE, STATUS
from pipelines.sandbox.launcher_client import Request

PROXY_PORT = 8377
FIRST_UID = 60_000  # and one more for each sandbox alive at a time; no system hands these out
INSIDE = Path(__file__).parent / "inside"
AGENT_DRIVER, FUNCTIONS_DRIVER, WORKSPACE_DRIVER = "driver.py", "functions.py", "workspace.py"
JOB_FOLDER = "/job"
AGENT_FOLDER = "/job/agent"
ENVIRONMENT = "/env"
GIVEN, DEPENDENCIES = "/given", "/deps"  # of a workspace: what it is made from, and its packages
#: Whoever grades a workspace is another user than who worked in it, on the host as well.
AGENT_UID, GRADER_UID, GRADERS_AFTER = 1_000, 1_001, 2_000
PATH = "/usr/local/bin:/usr/bin:/bin"
_NUMBERED = re.compile(r"python(3\.\d+)")
_SYSTEM = tuple(Path("/", name) for name in ("usr", "bin", "sbin", "lib", "lib32", "lib64"))
#: Whom TLS trusts, which is public: functions that may reach hosts must be able to tell them from others.
CERTIFICATES = ("/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust")
_ETC = ("passwd", "group", "hosts", "nsswitch.conf")


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """The Python that runs people's code."""

    executable: Path
    prefix: Path  # everything it needs that is not under /usr
    version: str  # as 3.11

    @property
    def needs_mount(self) -> bool:
        return not self.prefix.is_relative_to("/usr")


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceLayout:
    """A workspace's own: it is unpacked inside from what is given, into a folder in memory of this size; or
    it shows a shared folder, and only what is written in it is in memory."""

    given: Path
    dependencies: Path | None
    bytes: int
    shared: Path | None = None
    fills: Path | None = None  # a folder of the host to unpack into, which is then shared
    is_grading: bool = False
    workdir: str = "/app"  # where else it is seen
    folders: tuple[str, ...] = ()  # to write in, beside it

    @property
    def uid(self) -> int:
        return GRADER_UID if self.is_grading else AGENT_UID


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """What must be known to start a sandbox ahead of its job. Those of equal layouts are interchangeable."""

    source_dir: Path
    environment: Path | None
    disk_bytes: int
    memory_bytes: int
    driver: str = AGENT_DRIVER  # of `inside`: what waits in there for work
    workspace: "WorkspaceLayout | None" = None
    #: Which folders these were: one removed and made again is another, and who waits has the old one.
    identity: tuple[int, ...] = ()


def identity_of(*folders: Path | None) -> tuple[int, ...]:
    found: list[int] = []
    for folder in folders:
        if folder is not None:
            with suppress(OSError):
                seen = folder.stat()
                found += (seen.st_dev, seen.st_ino, seen.st_ctime_ns)
    return tuple(found)


def interpreters() -> Iterator[Interpreter]:
    """The server's own Python, then the system's: the first that works inside is taken."""
    own = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    yield Interpreter(executable=own, prefix=Path(sys.base_prefix).resolve(), version=version)
    system = Path("/usr/bin/python3").resolve()
    numbered = _NUMBERED.fullmatch(system.name)  # python3 is a link to python3.11
    if system.exists() and system != own and numbered:
        yield Interpreter(executable=system, prefix=Path("/usr"), version=numbered[1])


def bubblewrap() -> str | None:
    return shutil.which("bwrap") or shutil.which("bwrap", path="/usr/bin:/usr/local/bin")


def is_root() -> bool:
    return os.geteuid() == 0


def isolated(
    layout: Layout,
    python: Interpreter,
    *,
    bwrap: str,
    slot: int,
    group: Group | None = None,
    hidden: Sequence[Path] = (),
) -> Request:
    """The recipe. As root the uid is dropped before bubblewrap starts, because root's capabilities would go
    in with it and no limit on processes holds for root; folders it could not reach then are staged.
    `hidden` folders of the server are empty inside, should they lie in one that is shown."""
    options = {"sbx": INSIDE, "agent": layout.source_dir}
    options |= {"env": layout.environment} if layout.environment else {}
    options |= {"python": python.prefix} if python.needs_mount else {}
    room = layout.workspace
    if room is not None:
        options |= {"given": room.given} | ({"deps": room.dependencies} if room.dependencies else {})
        options |= {"fills": room.fills} if room.fills is not None else {}
    staged = {name: str(path) for name, path in options.items()} if is_root() else {}
    seen = {name: f"{STAGE}/{name}" if staged else str(path) for name, path in options.items()}
    covered = _hidden_inside(hidden, python)
    arguments = [
        *_namespaces(room.uid if room is not None else AGENT_UID),
        *_system_folders(),
        *_own_folders(seen, python, layout.disk_bytes, room),
        *([] if staged else _empty_folders(covered)),
        *("--json-status-fd", str(STATUS), "--seccomp", str(SECCOMP)),
        *("--chdir", JOB_FOLDER),
    ]
    driver = [str(python.executable), "-I", "-S", "-X", "utf8", f"/sbx/{layout.driver}", str(PROXY_PORT)]
    driver += ["fills"] if room is not None and room.fills is not None else []
    return Request(
        argv=[bwrap, "--args", str(ARGUMENTS), "--", *driver],
        arguments=arguments,
        stage=staged,
        layered=_layered(room, python) if staged else {},
        uid=_uid(slot, room) if is_root() else None,
        hidden=[str(folder) for folder in covered] if staged else (),
        cgroups=[str(folder) for folder in group.folders] if group is not None else (),
    )


def _layered(room: WorkspaceLayout | None, python: Interpreter) -> dict[str, str | int]:
    if room is None or room.fills is not None:
        return {}
    if room.shared is not None:
        return {"below": str(room.shared), "bytes": room.bytes}
    return {"bytes": room.bytes} if _holds_python(room, python) else {}


def _holds_python(room: WorkspaceLayout, python: Interpreter) -> bool:
    """Whether a link in place of its folder would hide the interpreter: `/root`, with a Python of root's own.
    Then the workspace is mounted there once more, which only root can; it has empty folders on the way."""
    return is_root() and python.needs_mount and python.prefix.is_relative_to(room.workdir)


def _uid(slot: int, room: WorkspaceLayout | None) -> int:
    if room is not None and room.fills is not None:
        return layered.OWNER
    return FIRST_UID + slot + (GRADERS_AFTER if room is not None and room.is_grading else 0)


def unisolated(layout: Layout, python: Interpreter, *, group: Group | None = None) -> Request:
    """The same driver as a plain process, for operators who asked for that by name."""
    argv = [str(python.executable), "-I", "-S", "-X", "utf8", str(INSIDE / layout.driver), "0"]
    cgroups = [str(folder) for folder in group.folders] if group is not None else ()
    return Request(argv=argv, dies_with_us=True, cgroups=cgroups)


def _namespaces(uid: int) -> list[str]:
    return [
        *("--die-with-parent", "--new-session"),
        *("--unshare-user", "--disable-userns", "--unshare-ipc", "--unshare-pid", "--unshare-net"),
        *("--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--uid", str(uid), "--gid", str(uid), "--clearenv"),
    ]


def _system_folders() -> list[str]:
    found = ["--ro-bind", "/usr", "/usr"]
    for folder in _SYSTEM[1:]:
        if folder.is_symlink():
            found += ["--symlink", os.readlink(folder), str(folder)]
        elif folder.is_dir():
            found += ["--ro-bind", str(folder), str(folder)]
    for shared in ("/etc/ld.so.cache", *CERTIFICATES):
        found += ["--ro-bind-try", shared, shared]
    for name in _ETC:
        found += ["--symlink", f"/sbx/{name}", f"/etc/{name}"]
    return found


def _visible_folders(python: Interpreter) -> list[Path]:
    """Of the machine's own, what every sandbox sees."""
    return [*_SYSTEM, *([python.prefix] if python.needs_mount else [])]


def _is_visible(folder: Path, python: Interpreter) -> bool:
    return any(folder.is_relative_to(place) for place in _visible_folders(python))


def first_exposed(hidden: Sequence[Path], python: Interpreter) -> Path | None:
    """A folder of the server that must be seen, because what code needs to run lies in it."""
    needed = [python.executable.parent, python.prefix / "lib", Path("/usr/bin"), Path("/usr/lib"), *_SYSTEM]
    visible = (folder for folder in hidden if _is_visible(folder, python))
    return next((one for one in visible if any(place.is_relative_to(one) for place in needed)), None)


def _hidden_inside(hidden: Sequence[Path], python: Interpreter) -> list[Path]:
    """Of the hidden folders those that would be seen; what lies in another of them is gone with it."""
    visible = [folder for folder in hidden if _is_visible(folder, python)]
    return [
        one for one in visible if not any(one != other and one.is_relative_to(other) for other in visible)
    ]


def _empty_folders(covered: Sequence[Path]) -> list[str]:
    found: list[str] = []
    for folder in covered:
        if folder.is_dir():
            found += ["--tmpfs", str(folder), "--remount-ro", str(folder)]
    return found


def _own_folders(
    seen: dict[str, str], python: Interpreter, disk_bytes: int, room: WorkspaceLayout | None
) -> list[str]:
    # bubblewrap's own /dev is a tmpfs without a limit, hence read-only but for a limited /dev/shm.
    size = ["--size", str(disk_bytes), "--perms", "1777", "--tmpfs"]
    found = ["--proc", "/proc", "--dev", "/dev", *size, "/tmp", *size, "/dev/shm", "--remount-ro", "/dev"]
    found += ["--ro-bind", seen["sbx"], "/sbx"]
    found += [*size, JOB_FOLDER, "--ro-bind", seen["agent"], AGENT_FOLDER, "--dir", f"{JOB_FOLDER}/workspace"]
    if room is not None:
        found += _workspace_folders(seen, room, size, is_mounted_twice=_holds_python(room, python))
    if "env" in seen:
        found += ["--ro-bind", seen["env"], ENVIRONMENT]
    if "python" in seen:
        for parent in reversed(python.prefix.parents[:-1]):
            found += ["--dir", str(parent)]
        found += ["--ro-bind", seen["python"], str(python.prefix)]
    # The rest of the root is a tmpfs as well, and nothing of ours is put there later. In /proc a process
    # could take back what was set for it: its share of the CPU, its place among the victims of an OOM.
    return [*found, "--remount-ro", "/proc", "--remount-ro", "/"]


def _workspace_folders(
    seen: dict[str, str], room: WorkspaceLayout, size: list[str], *, is_mounted_twice: bool
) -> list[str]:
    """Task collections call it otherwise, such as `/app`; their tests and logs have folders of their own."""
    folder = f"{JOB_FOLDER}/workspace"
    source = seen["fills"] if room.fills is not None else f"{STAGE}/workspace"
    if room.fills is not None or room.shared is not None or is_mounted_twice:
        found = ["--bind", source, folder]
    else:
        found = ["--size", str(room.bytes), "--perms", "0755", "--tmpfs", folder]
    for parent in reversed(PurePosixPath(room.workdir).parents[:-1]):
        found += ["--dir", str(parent)]
    found += ["--bind", source, room.workdir] if is_mounted_twice else ["--symlink", folder, room.workdir]
    found += ["--ro-bind", seen["given"], GIVEN]
    found += ["--ro-bind", seen["deps"], DEPENDENCIES] if "deps" in seen else []
    for writable in (*room.folders, *(("/tests", "/logs") if room.is_grading else ())):
        found += [*size, writable]
    return found


def readable_to_all(folder: Path) -> None:
    """Lets a dropped uid read uploaded code: folders 0755, files 0644 or 0755. Links are left alone."""
    for parent, _, files in os.walk(folder):
        os.chmod(parent, 0o755)
        for name in files:
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                os.chmod(path, 0o755 if mode & stat.S_IXUSR else 0o644)
