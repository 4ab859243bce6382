"""`pipelines up` and its neighbours as a person meets them."""

import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from served import KEY, Server, clean_environment, command, run_command, running


def start(directory: Path, *flags: str, **variables: str) -> tuple[Server, str]:
    """A started server and all it said by the time it stopped."""
    server = Server(directory, *flags, **variables)
    assert httpx2.get(f"{server.url}/health").json()["status"] == "ok"
    assert server.process.stdout is not None
    server.process.send_signal(signal.SIGTERM)
    said = server.first_line + server.process.stdout.read()
    assert server.wait() == 0, server.errors.read_text()
    assert "Traceback" not in server.errors.read_text()
    return server, said


def test_the_first_start_makes_a_key_shows_it_once_and_keeps_it_private(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    _, said = start(directory, PIPELINES_API_KEY="")
    shown = [word for word in said.split() if word.startswith("pk_live_")]
    key_file = directory / "api-key"
    assert shown == [key_file.read_text().strip()]
    assert len(shown[0]) == len("pk_live_") + 40
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "secret.key").stat().st_mode) == 0o600
    _, said_again = start(directory, PIPELINES_API_KEY="")
    assert "pk_live_" not in said_again
    with running(directory, PIPELINES_API_KEY="") as server:
        reply = httpx2.get(f"{server.url}/api/agents", headers={"X-API-Key": shown[0]})
        assert reply.status_code == 200


def test_the_key_of_a_server_is_found_from_any_folder_and_sent_to_no_other(tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running(tmp_path / "data", PIPELINES_API_KEY="", **state) as server:

        def ls(url: str, **variables: str) -> subprocess.CompletedProcess[str]:
            env = clean_environment() | state | variables
            arguments = command("ls", "--url", url)
            return subprocess.run(arguments, cwd=elsewhere, env=env, capture_output=True, text=True)

        found = ls(server.url)
        assert found.returncode == 0, found.stderr
        assert found.stderr.strip() == f"API key: {tmp_path / 'data' / 'api-key'}"
        assert "No API key" in ls(server.url.replace("127.0.0.1", "127.0.0.2")).stderr
        assert "No API key" in ls(server.url, XDG_STATE_HOME=str(tmp_path / "of-another-user")).stderr
    assert "pk_live_" not in (tmp_path / "state" / "pipelines" / "servers.json").read_text()


def test_a_given_key_becomes_the_first_one_and_only_at_the_first_start(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        assert httpx2.get(f"{server.url}/api/agents", headers={"X-API-Key": KEY}).status_code == 200
    with running(tmp_path / "data", PIPELINES_API_KEY="pk_live_another_one") as server:
        keys = {KEY: 200, "pk_live_another_one": 401}
        for key, status in keys.items():
            assert httpx2.get(f"{server.url}/api/agents", headers={"X-API-Key": key}).status_code == status


def test_the_server_is_only_reachable_from_this_machine_unless_told_otherwise(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        assert server.url.startswith("http://127.0.0.1:")


def test_a_database_elsewhere_is_used(tmp_path: Path) -> None:
    elsewhere = tmp_path / "deep" / "er" / "mine.db"
    start(tmp_path / "data", "--database-url", f"sqlite:///{elsewhere}")
    assert elsewhere.exists()
    assert not (tmp_path / "data" / "odyssey.db").exists()


def test_the_docs_are_served(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        page = httpx2.get(f"{server.url}/docs")
        assert page.status_code == 200
        assert "/api/odyssey-proxy/tools/{tool_name}" in page.text


def test_bad_settings_are_told_all_at_once(tmp_path: Path) -> None:
    done = run_command(
        "up",
        "--data-dir",
        str(tmp_path / "data"),
        PIPELINES_PORT="http",
        PIPELINES_SYNCHRONOUS="off",
        PIPELINES_API_KEY="x",
        PIPELINES_SECRET_KEY="x",
    )
    assert done.returncode == 2
    for variable in ("PORT", "SYNCHRONOUS", "API_KEY", "SECRET_KEY"):
        assert f"PIPELINES_{variable}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_port_in_use_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_command("up", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["999.1.1.1", "no-such-host.invalid", "::zz"])
def test_a_host_that_is_none_is_told(tmp_path: Path, host: str) -> None:
    done = run_command("up", "--host", host, "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert host in done.stderr
    assert "Traceback" not in done.stderr


def test_a_data_directory_that_cannot_be_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    done = run_command("up", "--port", "0", "--data-dir", str(tmp_path / "file"))
    assert done.returncode == 2
    assert str(tmp_path / "file") in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "odyssey.db").write_text("this is not a database, it is a text\n" * 100)
    done = run_command("up", "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert "odyssey.db" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_secret_key_file_that_is_broken_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "secret.key").write_text("short\n")
    done = run_command("up", "--port", "0", "--data-dir", str(tmp_path / "data"))
    assert done.returncode == 2
    assert "secret.key" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_a_signal_stops_the_server_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    server = Server(tmp_path / "data")
    assert httpx2.get(f"{server.url}/health").status_code == 200
    assert server.stop(how) == 0
    assert server.errors.read_text() == ""


@pytest.mark.slow
def test_a_request_that_never_ends_does_not_keep_the_server(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as half:
        half.sendall(b"POST /api/agents HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n")
        half.sendall(f"Authorization: Bearer {KEY}\r\n\r\n".encode() + b"{")
        assert httpx2.get(f"{server.url}/health").status_code == 200
        assert server.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["up", "odyssey"]),
        (["up", "--help"], ["--port", "--host", "--data-dir", "--database-url"]),
        (["odyssey", "--help"], ["plan", "fidelity"]),
    ],
)
def test_help_says_what_there_is(arguments: list[str], words: list[str]) -> None:
    done = run_command(*arguments)
    assert done.returncode == 0
    assert all(word in done.stdout for word in words)


@pytest.mark.parametrize("arguments", [["--version"], ["odyssey", "--version"]])
def test_the_version_is_the_packages(arguments: list[str]) -> None:
    from pipelines import __version__

    done = run_command(*arguments)
    assert (done.returncode, done.stdout.strip()) == (0, __version__)


def test_odyssey_is_short_for_pipelines_odyssey() -> None:
    beside = Path(sys.executable).parent / "odyssey"
    arguments = [str(beside)] if beside.exists() else [*command(), "odyssey"]
    done = subprocess.run(
        [*arguments, "--help"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "fidelity" in done.stdout


def test_an_unknown_command_is_told() -> None:
    done = run_command("fly")
    assert done.returncode == 2
    assert "fly" in done.stderr
