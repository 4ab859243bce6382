"""`pipelines worlds … --author model`, over a server with a scripted one, read at 80 columns."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_results_commands import Look
from test_worlds_commands import fits, words

from support.desk import AGENT
from support.library_agent import NOON, RULE, SCHEMA, SCRIPT, TOOLS
from support.server_process import Api, house_in


@pytest.fixture
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    directory = tmp_path_factory.mktemp("asking")
    script = directory / "answers.jsonl"
    script.write_text("\n".join(map(json.dumps, SCRIPT)))
    with house_in(directory, {"PIPELINES_AUTHOR_MODEL": f"scripted:{script}"}) as house:
        yield house.open()


def test_a_session_by_a_model_from_its_estimate_to_its_dataset(asking: Api, tmp_path: Path) -> None:
    look = Look(asking, tmp_path)
    body = AGENT | {"name": "Library", "tools_schema": TOOLS, "ledger_schema": SCHEMA}
    agent = str(asking.post("/api/agents", body, 201)["id"])
    given = ("--agent", agent, "--author", "model", "--size", "compact", "--seed", "7", "--now", NOON)
    more = ("--behavior", RULE, "--bucket", "loans:4", "--bucket", "gone wrong:2", "--max-cost-usd", "2")
    said = fits(look("worlds", "new", *given, *more))
    assert "author scripted:" in words(said)
    assert "at most 2.00 USD" in words(said)
    assert "Due dates are left out." in words(said)
    refined = fits(look("worlds", "refine", "1", "somebody reads Joyce instead"))
    assert "L-1 is Ulysses now" in words(refined)
    rows = words(fits(look("worlds", "continue", "1")))
    assert "Could I keep L-1 a little longer?" in rows
    assert "0 of 2 rows: the model gave no answer: the script says: timeout" in rows
    shown = words(fits(look("worlds", "show", "1")))
    assert "USD (4 questions" in shown
    again = words(fits(look("worlds", "resume", "1", "--max-cost-usd", "3")))
    assert "0 of 2 rows" in again
    assert "Dataset 1" in look("worlds", "finalize", "1")
