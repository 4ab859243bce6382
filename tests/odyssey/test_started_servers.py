"""The key of a server that was started on this machine, found by its URL from any folder."""

from pathlib import Path

import pytest

from pipelines.odyssey.started_servers import MOST_NOTED, key_file_of, note_server, notes_file


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def key_in(folder: Path) -> Path:
    folder.mkdir()
    file = folder / "api-key"
    file.write_text("pk_live_x\n")
    return file


def test_the_latest_server_of_a_url_is_the_one_that_counts(tmp_path: Path) -> None:
    first, second, other = (key_in(tmp_path / name) for name in ("first", "second", "other"))
    assert key_file_of("http://127.0.0.1:8420") is None
    note_server("http://127.0.0.1:8420", first)
    note_server("http://127.0.0.1:9000", other)
    note_server("http://127.0.0.1:8420", second)
    assert key_file_of("http://localhost:8420/") == second
    assert key_file_of("http://127.0.0.1:9000") == other


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8421", "https://127.0.0.1:8420", "http://example.com:8420", "http://[", "nothing"],
)
def test_a_key_is_of_its_own_server_only(tmp_path: Path, url: str) -> None:
    note_server("http://127.0.0.1:8420", key_in(tmp_path / "one"))
    assert key_file_of(url) is None


def test_servers_whose_files_are_gone_are_forgotten_and_few_are_kept(tmp_path: Path) -> None:
    gone = key_in(tmp_path / "gone")
    note_server("http://127.0.0.1:1", gone)
    gone.unlink()
    kept = key_in(tmp_path / "kept")
    for port in range(2, MOST_NOTED + 4):
        note_server(f"http://127.0.0.1:{port}", kept)
    assert key_file_of("http://127.0.0.1:1") is None
    assert key_file_of("http://127.0.0.1:2") is None
    assert key_file_of(f"http://127.0.0.1:{MOST_NOTED + 3}") == kept


@pytest.mark.parametrize("text", ["", "[]", "{", '{"http://127.0.0.1:8420": 3}'])
def test_notes_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    notes_file().parent.mkdir(parents=True)
    notes_file().write_text(text)
    found = key_file_of("http://127.0.0.1:8420")
    assert found is None or not found.exists()
    note_server("http://127.0.0.1:8420", key_in(tmp_path / "one"))
    assert key_file_of("http://127.0.0.1:8420") == tmp_path / "one" / "api-key"


def test_a_place_that_cannot_be_written_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a-file"))
    note_server("http://127.0.0.1:8420", key_in(tmp_path / "one"))
