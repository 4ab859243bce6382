"""A setup command has its own time, its own hosts and the workspace's size; nobody after it has a network."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipelines.core.coding.scenario import CodingScenario
from pipelines.core.coding.scenario_values import Timeouts
from pipelines.core.coding.scorers import CommandScorer
from pipelines.engine.workspaces.prepare_workspace import WorkspaceFailed
from pipelines.engine.workspaces.share_workspaces import WorkspaceLimits
from support.coding_workspaces import opened_workspaces

pytestmark = pytest.mark.anyio
FETCH = "python3 -c \"import urllib.request as u; print(u.urlopen('{url}', timeout=10).read().decode())\""


def scenario(command: str, *, network: tuple[str, ...] = (), setup_s: int = 60) -> CodingScenario:
    return CodingScenario(
        name="set-up",
        user_instruction="x",
        setup_command=command,
        network=network,
        timeouts=Timeouts(setup_s=setup_s),
        scorers=(CommandScorer(name="quick", type="command", command="true"),),
    )


@pytest.fixture
def port() -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"found")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()


async def test_it_is_ended_at_its_time_with_what_it_printed(tmp_path: Path) -> None:
    async with opened_workspaces(tmp_path) as workspaces:
        with pytest.raises(WorkspaceFailed, match="did not finish within 1 s") as failed:
            async with workspaces.held(scenario("echo begun; sleep 15", setup_s=1), 1):
                pass
        assert "begun" in failed.value.output


async def test_it_reaches_the_hosts_that_are_named_and_no_other(tmp_path: Path, port: int) -> None:
    fetch = FETCH.format(url=f"http://files.example:{port}/")
    async with opened_workspaces(tmp_path) as workspaces:
        allowed = scenario(f"{fetch} > got.txt", network=(f"files.example:{port}",))
        async with workspaces.held(allowed, 1) as ready:
            assert ready.facts["files"] == 1
        for network in ((), ("other.example",), ("files.example",)):  # none, another one, another port
            with pytest.raises(WorkspaceFailed, match="ended with 1"):
                async with workspaces.held(scenario(fetch, network=network), 1):
                    pass


async def test_what_it_leaves_must_fit_and_must_not_be_too_many_files(tmp_path: Path) -> None:
    limits = WorkspaceLimits(bytes=4 * 2**20, files=10)
    async with opened_workspaces(tmp_path, limits=limits) as workspaces:
        with pytest.raises(WorkspaceFailed, match="No space left"):
            async with workspaces.held(scenario("head -c 10000000 /dev/zero > large"), 1):
                pass
        with pytest.raises(WorkspaceFailed, match="11 files; at most 10"):
            async with workspaces.held(scenario("for n in 1 2 3 4 5 6 7 8 9 10 11; do touch f$n; done"), 1):
                pass
