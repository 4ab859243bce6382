"""The operator's cgroup, in the shape of both versions: which files are written, and how an end is read.

A folder plays the file system: what the kernel does with these files is not tried here.
"""

from pathlib import Path

import pytest
from boxes import Answerer, Boxes, boxes_in

from pipelines.sandbox.memory import Cgroup


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the kernel would fill a new folder with its files."""
    made = Path.mkdir

    def filled(self: Path, *given: object, **more: object) -> None:
        made(self, *given, **more)  # type: ignore[arg-type]
        for name in ("memory.max", "memory.swap.max", "memory.oom.group") if "v2" in str(self) else ():
            (self / name).write_text("max")

    monkeypatch.setattr(Path, "mkdir", filled)
    return tmp_path


def test_version_2_limits_memory_and_tells_of_a_kill(parent: Path) -> None:
    group = Cgroup(parent, "v2", 1 << 20)
    assert (group.folder / "memory.max").read_text() == "1048576"
    assert (group.folder / "memory.swap.max").read_text() == "0"
    (group.folder / "memory.events").write_text("low 0\noom 1\noom_kill 0\noom_group_kill 0\n")
    assert not group.was_exhausted()
    (group.folder / "memory.events").write_text("low 0\noom 3\noom_kill 12\noom_group_kill 1\n")
    assert group.was_exhausted()


def test_version_1_limits_memory_and_tells_of_a_kill(parent: Path) -> None:
    group = Cgroup(parent, "v1", 1 << 20)
    assert (group.folder / "memory.limit_in_bytes").read_text() == "1048576"
    assert not group.was_exhausted()
    (group.folder / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
    assert group.was_exhausted()


def test_a_sandbox_joins_its_group_and_a_missing_one_is_told(boxes: Boxes, tmp_path: Path) -> None:
    code = "def run(task_input, **_):\n    return 'ok'"
    groups = tmp_path / "groups"
    with boxes_in(tmp_path, warm=0, cgroup=groups) as own:
        outcome = own.run(code, serve=Answerer())
        assert outcome.error is not None
        assert "groups" in outcome.error.message
        assert not outcome.was_called
        groups.mkdir()
        assert own.run(code).result == "ok"
        (made,) = groups.iterdir()
        assert (
            made / "cgroup.procs"
        ).read_text() == "0"  # "me", said by the child before it became bubblewrap
