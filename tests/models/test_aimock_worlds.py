"""A seed session whose author is reached by a provider's API, over real sockets: aimock, strict."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.desk import AGENT
from support.library_agent import CHANGE, GOOD, NOON, RULE, SCHEMA, TOOLS, WORLD
from support.server_process import eventually, house_in

COMMAND = Path(__file__).parent / "aimock" / "node_modules" / ".bin" / "llmock"


def fixture(asked: str, answer: Any) -> Any:
    used = {"prompt_tokens": 1200, "completion_tokens": 180, "total_tokens": 1380}
    return {"match": {"userMessage": asked}, "response": {"content": json.dumps(answer), "usage": used}}


FIXTURES = [
    fixture("Make the records.", {"world": WORLD, "notes": []}),
    fixture("Change the world as the request says.", CHANGE),
    fixture("Write the rows.", {"rows": GOOD, "notes": []}),
]


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("node") is None or not COMMAND.exists():
        pytest.skip("aimock is not installed: run `npm ci` in tests/models/aimock")
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    command = [COMMAND, "--fixtures", fixtures, "--port", "0", "--strict"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout is not None
            said = b""
            while b"listening on " not in said:
                line = process.stdout.readline()
                assert line, said.decode()
                said += line
            yield said.split(b"listening on ")[1].split()[0].decode()
        finally:
            process.terminate()


@pytest.mark.parametrize("model", ["url", "openai:gpt-5-mini", "anthropic:claude-haiku-4-5"])
def test_a_session_by_a_provider_from_world_to_dataset(upstream: str, model: str, tmp_path: Path) -> None:
    settings = {
        "PIPELINES_AUTHOR_MODEL": f"{upstream}/v1#gpt-5-mini" if model == "url" else model,
        "OPENAI_BASE_URL": f"{upstream}/v1",
        "ANTHROPIC_BASE_URL": upstream,
        "OPENAI_API_KEY": "sk-test-0123456789",
        "ANTHROPIC_API_KEY": "sk-test-0123456789",
    }
    with house_in(tmp_path / "house", os.environ | settings) as house:
        api = house.open()
        agent = api.post(
            "/api/agents", AGENT | {"name": "Library", "tools_schema": TOOLS, "ledger_schema": SCHEMA}, 201
        )
        body = {"agent_id": agent["id"], "name": "Library", "size": "compact", "author": "model"}
        body |= {"behavior": RULE, "now": NOON, "rng_seed": 7, "max_model_tokens": 10**6}
        body |= {"buckets": [{"name": "loans", "rows": len(GOOD)}]}
        place = f"/api/seed-sessions/{api.post('/api/seed-sessions', body, 201)['id']}"
        assert api.get(f"{place}/world")["state"] == WORLD
        refined = api.post(f"{place}/world/refine", {"prompt": "somebody reads Joyce instead"})
        assert refined["said"] == CHANGE["said"]
        api.post(f"{place}/world/undo")
        api.post(f"{place}/continue", status=202)
        done = eventually(
            lambda: found if (found := api.get(place))["status"] == "rows_review" else None, "rows"
        )
        assert done["counts"] == {"wanted": 5, "kept": 5, "rejected": 0, "dropped": 0}
        assert done["models"]["questions"] == 3
        assert done["models"]["tokens"] == 3 * 1380
        assert (done["models"]["cost_usd"] is None) == (model == "url"), "a URL has no known price"
        assert api.post(f"{place}/finalize", status=201)["dataset_id"]
