"""One cgroup for each sandbox, below a folder that the operator has given us: version 2, or three of 1.

The kernel then keeps the limits on memory (also what it holds for the code, such as full socket buffers),
processes and CPU itself. Whether the folder can be used is found out once, at the start, by using it.
"""

import errno
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

AUTO = "auto"
OWN_LEAF = "odyssey-server"  # where the server's own processes go, since a group with groups holds none (v2)
CPU_WEIGHT = 33  # of 100: three busy sandboxes weigh as much as the server
CPU_SHARES = 341  # the same in version 1, of 1024
CPU_PERIOD_US = 100_000
CPU_CORES = 1  # one run may not take more, however many are idle
_WANTED = ("memory", "pids", "cpu")
_PREFIX = "odyssey"
_REMOVED_WITHIN_S = 2.0
_JOIN = "import sys\nfor name in sys.argv[1:]:\n    with open(name, 'w') as procs: procs.write('0')"
_DELEGATE = "Delegate=yes, or systemd-run --scope -p Delegate=yes: docs/howto/operate.md"


class CannotUse(Exception):
    """The folder is no cgroup, or not ours; the message says what was tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kernel:
    """Where the kernel tells what is mounted and what this process is in."""

    mounts: Path = Path("/proc/self/mountinfo")
    own: Path = Path("/proc/self/cgroup")


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The group of one sandbox: one folder in version 2, one for each controller in version 1."""

    folders: tuple[Path, ...]

    def was_exhausted(self) -> bool:
        """Whether the kernel has killed in it for want of memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with suppress(OSError):
                    lines = (folder / name).read_text().splitlines()
                    return any(int(line.split()[1]) > 0 for line in lines if line.startswith("oom_kill "))
        return False

    def remove(self) -> bool:
        """Whatever is still in it is killed. Blocks for a moment: the dead leave one by one."""
        are_gone = [_removed(folder) for folder in self.folders]
        return all(are_gone)


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """The folders to make groups in, by controller; in version 2 all are the same one."""

    version: Literal[1, 2]
    folders: Mapping[str, Path]
    missing: Mapping[str, str] = field(default_factory=dict)  # controllers that are not limited, and why

    def describe(self) -> str:
        place = self.folders["memory"]
        text = f"cgroup v{self.version} at {place} limits {', '.join(self.folders)}"
        return text + "".join(f"; not {name}: {why}" for name, why in self.missing.items())

    def make(self, *, memory_bytes: int, processes: int) -> Group:
        """Raises OSError, and then has left nothing behind."""
        name = f"{_PREFIX}-{os.getpid()}-{secrets.token_hex(6)}"
        group = Group(folders=tuple(dict.fromkeys(place / name for place in self.folders.values())))
        try:
            for folder in group.folders:
                folder.mkdir()
            for controller, place in self.folders.items():
                written = _limits(self.version, controller, memory_bytes, processes)
                for file, value, is_needed in written:
                    _write(place / name / file, value, is_needed=is_needed)
        except OSError:
            group.remove()
            raise
        return group

    def reap(self) -> int:
        """Removes the groups of servers that are gone (killed, or cut off from power); how many."""
        found = 0
        for place in set(self.folders.values()):
            for folder in place.glob(f"{_PREFIX}-*-*"):
                owner = folder.name.split("-")[1]
                if owner.isdigit() and not Path("/proc", owner).exists():
                    found += _removed(folder)
        return found


def open_groups(setting: str, kernel: Kernel | None = None) -> Groups:
    """The groups of a setting, tried out; raises CannotUse with words for the operator."""
    kernel = kernel or Kernel()
    try:
        groups = _own_groups(kernel) if setting == AUTO else _named_groups(Path(setting), kernel)
        groups.reap()
        _try(groups)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise CannotUse(f"{where}{error.strerror or error}; this server must own it ({_DELEGATE})") from None
    return groups


def _try(groups: Groups) -> None:
    """With a process that joins: moving one needs more rights than making a group."""
    group = groups.make(memory_bytes=64 << 20, processes=8)
    try:
        procs = [str(folder / "cgroup.procs") for folder in group.folders]
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _JOIN, *procs], capture_output=True, text=True, timeout=30
        )
        if done.returncode != 0:
            last_line = done.stderr.strip().splitlines()[-1:]
            raise CannotUse(f"no process can be moved into it: {''.join(last_line)} ({_DELEGATE})")
    finally:
        group.remove()


def _limits(
    version: int, controller: str, memory_bytes: int, processes: int
) -> Iterable[tuple[str, str, bool]]:
    """File, value, and whether there is no limit without it. Swap and TCP are not counted everywhere."""
    quota = str(CPU_CORES * CPU_PERIOD_US)
    if controller == "pids":
        return [("pids.max", str(processes), True)]
    if version == 2 and controller == "memory":
        size = str(memory_bytes)
        return [("memory.max", size, True), ("memory.swap.max", "0", False), ("memory.oom.group", "1", False)]
    if version == 2:
        return [("cpu.weight", str(CPU_WEIGHT), True), ("cpu.max", f"{quota} {CPU_PERIOD_US}", False)]
    if controller == "memory":
        size = str(memory_bytes)
        return [
            ("memory.limit_in_bytes", size, True),
            ("memory.memsw.limit_in_bytes", size, False),
            # What the kernel holds for the code is in the first limit, but for TCP's buffers.
            ("memory.kmem.tcp.limit_in_bytes", size, False),
        ]
    return [
        ("cpu.shares", str(CPU_SHARES), True),
        ("cpu.cfs_period_us", str(CPU_PERIOD_US), False),
        ("cpu.cfs_quota_us", quota, False),
    ]


def _write(path: Path, value: str, *, is_needed: bool) -> None:
    try:
        # Not created: outside of a cgroup file system there is nobody to read it.
        handle = os.open(path, os.O_WRONLY)
        try:
            os.write(handle, value.encode())
        finally:
            os.close(handle)
    except OSError:
        if is_needed:
            raise


def _named_groups(folder: Path, kernel: Kernel) -> Groups:
    if not folder.is_absolute():
        raise CannotUse(f"must be the absolute path of a cgroup's folder, or {AUTO!r}")
    if not folder.is_dir():
        raise CannotUse("there is no such folder: make it first, or let systemd (docs/howto/operate.md)")
    if (folder / "cgroup.controllers").exists():
        return _version_2(folder)
    if (folder / "memory.limit_in_bytes").exists():
        mounts = _mounts(kernel)
        below = [place for place in [mounts.get("memory")] if place and folder.is_relative_to(place)]
        inner = folder.relative_to(below[0]) if below else None
        found = {name: mounts[name] / inner for name in _WANTED[1:] if inner is not None and name in mounts}
        return _version_1({"memory": folder, **found})
    raise CannotUse("is not a folder of a cgroup file system that limits memory")


def _own_groups(kernel: Kernel) -> Groups:
    """Below the group that this process is in."""
    mounts, own = _mounts(kernel), _own_paths(kernel)
    if "memory" in mounts and "memory" in own:
        return _version_1({name: mounts[name] / own[name] for name in _WANTED if name in {*mounts} & {*own}})
    if "" not in mounts or "" not in own:
        raise CannotUse("no cgroup file system is mounted here that limits memory")
    folder = mounts[""] / own[""]
    folder = folder.parent if folder.name == OWN_LEAF else folder
    _step_aside(folder)
    return _version_2(folder)


def _version_1(places: Mapping[str, Path]) -> Groups:
    found: dict[str, Path] = {}
    missing = {name: "it is not mounted" for name in _WANTED if name not in places}
    for name, place in places.items():
        try:
            place.mkdir(exist_ok=True)
            if not os.access(place, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
        except OSError as error:
            if name == "memory":
                raise
            missing[name] = f"{place}: {error.strerror}"
        else:
            found[name] = place
    return Groups(version=1, folders=found, missing=missing)


def _version_2(folder: Path) -> Groups:
    available = (folder / "cgroup.controllers").read_text().split()
    if "memory" not in available:
        raise CannotUse(f"the memory controller is not delegated to it ({_DELEGATE})")
    found = [name for name in _WANTED if name in available]
    try:
        _write(folder / "cgroup.subtree_control", " ".join(f"+{name}" for name in found), is_needed=True)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise CannotUse("has processes of its own: name an empty one, or a new one below it") from None
        raise
    missing = {name: "it is not delegated" for name in _WANTED if name not in available}
    return Groups(version=2, folders=dict.fromkeys(found, folder), missing=missing)


def _step_aside(folder: Path) -> None:
    """A group of version 2 that has groups may hold no process: ours go into one of their own."""
    held = {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
    family = _family(os.getpid())
    if held - family:
        raise CannotUse(
            f"{folder} holds processes that are not this server's: start it in one of its own ({_DELEGATE})"
        )
    if held:
        (folder / OWN_LEAF).mkdir(exist_ok=True)
    for pid in held:
        with suppress(ProcessLookupError):
            _write(folder / OWN_LEAF / "cgroup.procs", str(pid), is_needed=True)


def _family(pid: int) -> set[int]:
    """A process, all above it and all below it."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
    above = {pid}
    while (parent := parents.get(pid, 0)) > 0:
        above.add(parent)
        pid = parent
    below = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return above | below


def _mounts(kernel: Kernel) -> dict[str, Path]:
    """By controller, where each hierarchy of version 1 is mounted; under "" the one of version 2."""
    found: dict[str, Path] = {}
    for line in kernel.mounts.read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.partition(" ")
        place = Path(before.split()[4])
        if kind == "cgroup2":
            found.setdefault("", place)
        elif kind == "cgroup":
            for name in options.split()[-1].split(","):
                found.setdefault(name, place)
    return found


def _own_paths(kernel: Kernel) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in kernel.own.read_text().splitlines():
        _, names, path = line.split(":", 2)
        found |= dict.fromkeys(names.split(","), path.lstrip("/"))
    return found


def _removed(folder: Path) -> bool:
    gives_up = time.monotonic() + _REMOVED_WITHIN_S
    while True:
        try:
            folder.rmdir()
            return True
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > gives_up:
                return False
        _kill_all(folder)
        time.sleep(0.005)


def _kill_all(folder: Path) -> None:
    with suppress(OSError):
        for pid in (folder / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
