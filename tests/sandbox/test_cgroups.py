"""The operator's cgroup: found, tried, used and cleared away. With the kernel's own where this machine lets
us make one; the files of the other version in a plain folder: what is written, not what comes of it.
"""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxes import Answerer, Boxes, boxes_in
from test_attacks import CALLS_ONCE
from test_memory import FILLS

from pipelines.sandbox import cgroups
from pipelines.sandbox.cgroups import CannotUse, Groups, Kernel, open_groups
from pipelines.sandbox.job import MEBIBYTE, CodeErrorKind

NOBODY = 2**22 + 1  # over the largest pid
V2_FILES = ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.weight", "cpu.max")
V1_FILES = (
    "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes", "pids.max",
    "cpu.shares", "cpu.cfs_period_us", "cpu.cfs_quota_us",
)  # fmt: skip


def gone_pid() -> int:
    """Of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders in which new ones are filled with files, as the kernel does it; removing them removes those."""
    made, gone = Path.mkdir, Path.rmdir

    def filled(self: Path, *given: object, **more: object) -> None:
        made(self, *given, **more)  # type: ignore[arg-type]
        for name in ("cgroup.procs", *V2_FILES, *V1_FILES):
            if ("v2" in str(self)) == (name in V2_FILES) or name in ("cgroup.procs", "pids.max"):
                (self / name).write_text("")

    def emptied(self: Path) -> None:
        for file in self.iterdir():
            if file.is_file():
                file.unlink()
        gone(self)

    monkeypatch.setattr(Path, "mkdir", filled)
    monkeypatch.setattr(Path, "rmdir", emptied)
    return tmp_path


@pytest.fixture
def version_2(played: Path) -> Path:
    folder = played / "v2"
    folder.mkdir()
    (folder / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (folder / "cgroup.subtree_control").write_text("")
    return folder


def test_version_2_limits_memory_processes_and_cpu(version_2: Path) -> None:
    groups = open_groups(str(version_2))
    assert groups.version == 2
    assert (version_2 / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert f"{version_2} limits memory, pids, cpu" in groups.describe()
    group = groups.make(memory_bytes=1 << 20, processes=7)
    (folder,) = group.folders
    found = {name: (folder / name).read_text() for name in V2_FILES}
    assert found == {
        "memory.max": "1048576", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "7",
        "cpu.weight": "33", "cpu.max": "100000 100000",
    }  # fmt: skip
    (folder / "memory.events").write_text("low 0\noom 1\noom_kill 0\noom_group_kill 0\n")
    assert not group.was_exhausted()
    (folder / "memory.events").write_text("low 0\noom 3\noom_kill 12\noom_group_kill 1\n")
    assert group.was_exhausted()
    assert group.remove()
    assert not folder.exists()


def test_version_1_has_a_folder_for_each_controller(played: Path) -> None:
    for name in ("memory", "pids", "cpu"):
        (played / "v1" / name / "odyssey").mkdir(parents=True)
    mounts = played / "mountinfo"
    line = "30 25 0:2{0} / {1}/v1/{2} rw - cgroup cgroup rw,{2}\n"
    mounts.write_text(
        "".join(line.format(n, played, name) for n, name in enumerate(("memory", "pids", "cpu")))
    )
    groups = open_groups(str(played / "v1" / "memory" / "odyssey"), Kernel(mounts=mounts))
    assert (groups.version, list(groups.folders)) == (1, ["memory", "pids", "cpu"])
    group = groups.make(memory_bytes=1 << 20, processes=7)
    found = {file: (folder / file).read_text() for folder in group.folders for file in V1_FILES
             if (folder / file).read_text()}  # fmt: skip
    assert found == {
        "memory.limit_in_bytes": "1048576", "memory.memsw.limit_in_bytes": "1048576",
        "memory.kmem.tcp.limit_in_bytes": "1048576", "pids.max": "7", "cpu.shares": "341",
        "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000",
    }  # fmt: skip
    assert group.remove()
    alone = open_groups(str(played / "v1" / "memory" / "odyssey"), Kernel(mounts=Path("/dev/null")))
    assert "not pids: it is not mounted" in alone.describe()


def test_auto_is_the_group_the_server_is_in_and_it_steps_aside(version_2: Path, played: Path) -> None:
    mounts, own = played / "mountinfo", played / "own"
    mounts.write_text(f"30 25 0:27 / {played} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n")
    own.write_text("0::/v2\n")
    (version_2 / "cgroup.procs").write_text(f"{os.getpid()}\n")
    groups = open_groups("auto", Kernel(mounts=mounts, own=own))
    assert groups.folders["memory"] == version_2
    assert (version_2 / cgroups.OWN_LEAF / "cgroup.procs").read_text() == str(os.getpid())
    own.write_text(f"0::/v2/{cgroups.OWN_LEAF}\n")  # as a second look would find it
    (version_2 / "cgroup.procs").write_text("")
    assert open_groups("auto", Kernel(mounts=mounts, own=own)).folders["memory"] == version_2
    (version_2 / "cgroup.procs").write_text(f"{os.getpid()}\n1\n{NOBODY}\n")
    with pytest.raises(CannotUse, match="not this server's"):
        open_groups("auto", Kernel(mounts=mounts, own=own))


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("odyssey", "absolute"),
        ("/sys/fs/cgroup/nowhere", "no such folder"),
        ("/tmp", "not a folder of a cgroup"),
    ],
)
def test_what_is_no_cgroup_is_refused_with_words(setting: str, says: str) -> None:
    with pytest.raises(CannotUse, match=says):
        open_groups(setting)


def test_version_2_without_the_controller_of_memory_is_refused(version_2: Path) -> None:
    (version_2 / "cgroup.controllers").write_text("cpu pids\n")
    with pytest.raises(CannotUse, match="Delegate"):
        open_groups(str(version_2))


def test_a_group_that_cannot_be_joined_is_refused(version_2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroups, "_JOIN", "raise PermissionError(13, 'Permission denied')")
    with pytest.raises(CannotUse, match=r"moved into it.*Permission denied"):
        open_groups(str(version_2))
    assert [place.name for place in version_2.iterdir() if place.is_dir()] == []


# With the kernel's own


def memory_of_version_1() -> Path | None:
    place = cgroups._mounts(Kernel()).get("memory")
    return place if place is not None and os.access(place, os.W_OK) and os.geteuid() == 0 else None


@pytest.fixture
def real() -> Iterator[Groups]:
    place = memory_of_version_1()
    if place is None:
        pytest.skip("no hierarchy of version 1 for memory in which this user may make a group")
    folder = place / f"odyssey_tests_{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    groups = open_groups(str(folder))
    try:
        yield groups
    finally:
        for made in groups.folders.values():
            made.rmdir()  # which fails if anything was left in it


def test_a_sandbox_is_in_its_group_before_it_runs_and_the_group_goes_with_it(
    boxes: Boxes, real: Groups, tmp_path: Path
) -> None:
    seen: dict[str, set[str]] = {}

    async def serve(connection: socket.socket) -> None:
        for pid in own.processes():
            for name, path in cgroups._own_paths(Kernel(own=Path(f"/proc/{pid}/cgroup"))).items():
                seen.setdefault(name, set()).add(path)
        await Answerer()(connection)

    with boxes_in(tmp_path, warm=0, groups=real) as own:
        own.value(CALLS_ONCE, serve=serve)
        assert "cgroup v1" in own.pool.bounds
    for name, place in real.folders.items():
        (path,) = seen[name]  # bubblewrap, its first process and the code: all in one
        assert path.startswith(f"{place.name}/odyssey-{os.getpid()}-")
        assert [made for made in place.iterdir() if made.is_dir()] == []


@pytest.mark.parametrize("kind", ["unix", "backlog"])
def test_the_kernel_counts_full_socket_buffers(real: Groups, tmp_path: Path, kind: str) -> None:
    with boxes_in(tmp_path, warm=0, groups=real) as own:
        error = own.error(
            FILLS, CodeErrorKind.OUT_OF_MEMORY, memory_bytes=96 * MEBIBYTE, task_input={"kind": kind}
        )
    assert "96 MiB" in error.message
    most = int((real.folders["memory"] / "memory.max_usage_in_bytes").read_text())
    assert 64 * MEBIBYTE < most <= 100 * MEBIBYTE  # of all that was in there


def test_processes_and_cpu_are_limited_by_the_group(real: Groups, tmp_path: Path) -> None:
    code = """
    import os, signal, threading, time
    def run(task_input, **_):
        def spin():
            while time.monotonic() < ends: pass
        ends = time.monotonic() + 1.0
        for _ in range(3):
            if os.fork() == 0:
                spin()
                os._exit(0)
        spin()
        for _ in range(3): os.wait()
        used = os.times()
        return {"cpu": sum(used[:4])}
    """
    with boxes_in(tmp_path, warm=0, groups=real) as own:
        assert own.value(code)["cpu"] < 1.5  # of two cores it gets one


def test_groups_of_a_server_that_is_gone_are_cleared_and_those_of_others_are_not(real: Groups) -> None:
    left = real.folders["memory"] / f"odyssey-{gone_pid()}-abc"
    others = real.folders["memory"] / f"odyssey-{os.getppid()}-abc"
    for folder in (left, others):
        folder.mkdir()
    lost = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (left / "cgroup.procs").write_text(str(lost.pid))
    assert open_groups(str(real.folders["memory"])).folders == real.folders
    assert not left.exists()
    assert lost.wait() == -9
    lost.communicate()
    assert others.exists()
    others.rmdir()


def test_a_group_that_disappears_is_told(boxes: Boxes, real: Groups, tmp_path: Path) -> None:
    missing = Groups(version=1, folders={"memory": real.folders["memory"] / "gone"})
    with boxes_in(tmp_path, warm=0, groups=missing) as own:
        outcome = own.run("def run(task_input, **_):\n    return 'ok'")
    assert outcome.error is not None
    assert os.strerror(errno.ENOENT) in outcome.error.message
    assert not outcome.was_called
