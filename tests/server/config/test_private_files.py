"""What only the server may read is closed to others at every start, or the start is refused with words."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.core.text.problems import Refused
from pipelines.server.config.settings import load_settings
from pipelines.server.service import private_files
from pipelines.server.service.first_start import prepare
from pipelines.server.service.sandboxes import hidden_folders

SOMEBODY = 12_345


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_data_directory_that_everybody_may_read_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    prepare(load_settings({}, data_dir=folder))
    assert mode(folder) == 0o700
    assert "0755" in caplog.text


def test_a_new_one_is_closed_whatever_the_mask(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = os.umask(0)
    try:
        prepare(load_settings({}, data_dir=tmp_path / "data"))
    finally:
        os.umask(before)
    assert mode(tmp_path / "data") == 0o700
    assert caplog.text == ""


def test_a_database_elsewhere_is_closed_with_what_lies_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "shared" / "odyssey.db"
    file.parent.mkdir()
    file.parent.chmod(0o755)
    settings = load_settings({}, data_dir=tmp_path / "data", database_url=f"sqlite:///{file}")
    prepare(settings)
    for path in (file, file.with_name("odyssey.db-wal")):
        path.touch()
        path.chmod(0o644)
    prepare(settings)
    assert mode(file) == 0o600
    assert mode(file.parent) == 0o755  # not ours
    assert all(mode(path) == 0o600 for path in file.parent.iterdir() if path.name != "odyssey.db.lock")
    assert hidden_folders(settings) == ((tmp_path / "data").resolve(), file.parent.resolve())


def test_a_file_system_that_keeps_no_modes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # such as a share of Windows
    with pytest.raises(Refused) as refused:
        private_files.close_folder(tmp_path)
    (problem,) = refused.value.problems
    assert "mode 0755" in problem.message
    assert "chmod 700" in (problem.hint or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_folder_of_somebody_else_that_is_open_is_refused(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from pipelines.core.text.problems import Refused
from pipelines.server.service import private_files
os.setgroups([]); os.setresgid(*[int(sys.argv[2])] * 3); os.setresuid(*[int(sys.argv[2])] * 3)
os.chdir(int(sys.argv[3]))
try:
    private_files.close_folder(Path("."))
except Refused as refused:
    print(refused.problems[0].message)
"""
    folder = tmp_path / "data"
    folder.mkdir()
    folder.chmod(0o777)
    handle = os.open(folder, os.O_RDONLY)
    try:
        command = [sys.executable, "-c", code, str(folder), str(SOMEBODY), str(handle)]
        done = subprocess.run(command, capture_output=True, text=True, pass_fds=[handle])
    finally:
        os.close(handle)
    assert "mode 0777" in done.stdout, done.stderr
    assert "belongs to user id 0" in done.stdout
