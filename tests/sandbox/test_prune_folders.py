"""What is removed of the folders that can be made again, and what never is."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pipelines.sandbox.held_folders import USED, HeldFolders
from pipelines.sandbox.prune_folders import DAY_S, Rules, prune_folders

NOW = time.time()
KIB = 1024


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    return tmp_path / "code"


def made(directory: Path, name: str, *, days: float, kib: int = 4) -> Path:
    """A folder of some size that was last used days ago."""
    path = directory / name
    path.mkdir(parents=True)
    (path / "file").write_bytes(os.urandom(kib * KIB))
    used = directory / USED
    used.mkdir(exist_ok=True)
    (used / name).touch()
    for one in (path, used / name):
        os.utime(one, (NOW - days * DAY_S,) * 2)
    return path


def pruned(
    *directories: Path, days: float | None = None, kib: int | None = None, is_dry: bool = False
) -> set[str]:
    rules = Rules(
        unused_s=days * DAY_S if days is not None else None,
        limit_bytes=kib * KIB if kib is not None else None,
        now=NOW,
        is_dry=is_dry,
    )
    return {one.path.name for one in prune_folders(directories, rules)}


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if not path.name.startswith(".")}


def test_what_was_not_used_for_long_goes(folders: Path) -> None:
    made(folders, "old", days=31)
    made(folders, "new", days=29)
    assert pruned(folders, days=30, is_dry=True) == {"old"}
    assert names(folders) == {"old", "new"}
    assert pruned(folders, days=30) == {"old"}
    assert names(folders) == {"new"}
    assert pruned(folders) == set()


def test_over_the_limit_the_longest_unused_go_until_the_rest_fits(folders: Path, tmp_path: Path) -> None:
    others = tmp_path / "environments"
    for days in (1, 2, 3, 4):
        made(folders if days % 2 else others, f"of-{days}", days=days, kib=100)
    assert pruned(folders, others, kib=250) == {"of-4", "of-3"}
    assert names(folders) | names(others) == {"of-1", "of-2"}


def test_what_was_used_within_the_hour_stays_however_little_there_is_room(folders: Path) -> None:
    made(folders, "waits", days=0.5 / 24)
    assert pruned(folders, days=0, kib=0) == set()


def test_a_file_with_two_names_counts_once(folders: Path) -> None:
    first, second = made(folders, "first", days=2, kib=100), made(folders, "second", days=1)
    os.link(first / "file", second / "same")
    assert pruned(folders, kib=150) == set()


def test_what_is_in_use_stays_also_in_another_process(folders: Path) -> None:
    for name in ("here", "there", "free"):
        made(folders, name, days=100)
    code = "import sys, pathlib\nfrom pipelines.sandbox.held_folders import lock_of\n"
    code += "lock_of(pathlib.Path(sys.argv[1]), 'there'); print('held', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(folders)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other, HeldFolders(folders).held("here"):
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert pruned(folders, days=30) == {"free"}
        other.communicate("\n")
    assert names(folders) == {"here", "there"}
    assert pruned(folders, days=30) == {"there"}  # the use of the other was just now


def test_a_folder_is_held_until_its_last_user_is_done(folders: Path) -> None:
    made(folders, "shared", days=100)
    held = HeldFolders(folders)
    with held.held("shared"):
        with held.held("shared"):
            pass
        os.utime(folders / USED / "shared", (NOW - 100 * DAY_S,) * 2)
        assert pruned(folders, days=30) == set()
    os.utime(folders / USED / "shared", (NOW - 100 * DAY_S,) * 2)
    assert pruned(folders, days=30) == {"shared"}


def test_who_holds_a_folder_and_finds_it_keeps_it_while_others_prune(folders: Path) -> None:
    """A user and a pruner in a race, many times: who sees the folder after taking hold sees it to the end."""
    stopped = threading.Event()
    held = HeldFolders(folders)
    rules = Rules(unused_s=-10 * DAY_S, limit_bytes=0, now=NOW + 2 * DAY_S)

    def prune() -> None:
        while not stopped.is_set():
            prune_folders([folders], rules)

    pruner = threading.Thread(target=prune)
    folders.mkdir()
    pruner.start()
    try:
        for _ in range(200):
            with held.held("code"):
                (folders / "code").mkdir(exist_ok=True)
                (folders / "code" / "file").write_text("x")
                assert (folders / "code" / "file").read_text() == "x"
    finally:
        stopped.set()
        pruner.join()


def test_what_a_crash_has_left_goes_after_a_day(folders: Path) -> None:
    for name, days in (("new-abc", 2), (".making-abc", 2), (".gone-abc", 2), ("new-now", 0.1)):
        made(folders, name, days=days)
    assert pruned(folders) == {"new-abc", ".making-abc", ".gone-abc"}
    assert (folders / "new-now").exists()


def test_answers_about_environments_that_are_gone_are_forgotten(folders: Path) -> None:
    made(folders, "kept", days=1)
    made(folders, "old", days=50)
    (folders / "asked").mkdir()
    for name in ("kept", "old"):
        (folders / "asked" / f"of-{name}").write_text(name)
    assert pruned(folders, days=30) == {"old"}
    assert names(folders / "asked") == {"of-kept"}
