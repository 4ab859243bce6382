"""docs/howto/recordings.md as written: the commands, and the import into a served platform."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
from served import KEY, running

from support.desk import AGENT, answered
from support.page_commands import enter
from support.repository import DOCS

PAGE = (DOCS / "howto" / "recordings.md").read_text()
PATIENCE_S = 120.0


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_a_recording_is_judged_without_a_server(tmp_path: Path) -> None:
    said = enter(blocks("sh")[0], tmp_path)
    (expected,) = blocks("text")
    assert said.startswith(expected.rstrip())


def test_what_is_imported_is_on_every_page_like_a_live_run(tmp_path: Path) -> None:
    (body,) = blocks("json import")
    (tmp_path / "import.json").write_text(body)
    with (
        running(tmp_path / "house") as server,
        httpx2.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, timeout=PATIENCE_S
        ) as api,
    ):
        answered(api.post("/api/agents", json=AGENT), 201)
        urls = {"PIPELINES_URL": server.url, "PIPELINES_API_KEY": KEY}
        first, second = (json.loads(enter(blocks("sh")[1], tmp_path, **urls)) for _ in range(2))
        (run,) = first["runs"]
        assert run["verdict"] == "PASS", run
        check_pages(server.url, first, second)
        whole = answered(api.get(f"/api/runs/{run['run_id']}/export"))
        again = answered(api.post("/api/runs/import", json={"agent_id": 1, "runs": [whole]}), 201)
        assert again["runs"][0]["verdict"] == "PASS"
        compared = answered(
            api.get(f"/api/batches/{second['batch_id']}/compare", params={"to": first["batch_id"]})
        )
        assert compared["counts"]["passing"] == 1, compared


def check_pages(url: str, first: Any, second: Any) -> None:
    run_id, other = first["runs"][0]["run_id"], second["runs"][0]["run_id"]
    pages = {
        "/runs": ["recorded", "Refund order 4521."],
        f"/runs/{run_id}": ["refund_order", "I have refunded order 4521."],
        f"/runs/{run_id}/steps/1": ["refund_order"],
        f"/batches/{first['batch_id']}": ["completed", "Refund order 4521."],
        f"/compare/runs?from={run_id}&to={other}": ["refund_order"],
        f"/compare/batches?from={first['batch_id']}&to={second['batch_id']}": [],
        "/review": [],
    }
    with httpx2.Client(base_url=url, timeout=PATIENCE_S, follow_redirects=True) as browser:
        assert browser.post("/sign-in", data={"key": KEY}).status_code == 200
        for path, words in pages.items():
            page = browser.get(path)
            assert page.status_code == 200, (path, page.status_code)
            for word in words:
                assert word in page.text, (path, word)
