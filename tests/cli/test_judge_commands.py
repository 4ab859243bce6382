"""`pipelines rejudge --model`, `pipelines judges`: second opinions from the command line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from test_run_command import Cli
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.core.verdict.model_judge.rubric import PROMPT_VERSION
from support.judge_attacks import entry_for
from support.played_agents import played
from support.server_process import Api

IDS = ("task_completion", "right_refusal", "tool_use")


def script(path: Path, *answers: Any) -> str:
    path.write_text("\n".join(json.dumps(answer) for answer in answers))
    return f"scripted:{path}"


def all_of(status: str, *more: str) -> Any:
    return {"answer": {"criteria": [entry_for(id, status) for id in (*IDS, *more)]}}


@pytest.fixture(scope="module")
def batch_id(api: Api) -> Iterator[int]:
    """Two runs that evidence leaves open."""
    with played(lambda dispatch: dispatch.answer("A fine order it is.")) as agent:
        agent_id = api.agent(agent.url)["id"]
        rows = [{"user": f"Write a poem about order 4521. {number}"} for number in range(2)]
        made = api.batch_of(agent_id, api.dataset(*rows, agent_id=agent_id)["id"])
        api.ended(made)
        yield made


def typed(api: Api, folder: Path, *arguments: str, code: int = 0) -> str:
    env = Cli(api, folder).env | {"COLUMNS": "200", "NO_COLOR": "1"}
    done: Result = CliRunner().invoke(app, [*arguments], env=env)
    assert done.exit_code == code, done.output
    return done.stdout if code == 0 else done.stderr


def test_two_models_read_a_batch_and_are_compared(api: Api, batch_id: int, tmp_path: Path) -> None:
    kind, strict = (
        script(tmp_path / f"{status}.jsonl", all_of(status), {"price_per_million_tokens": 2})
        for status in ("met", "not_met")
    )
    out = typed(api, tmp_path, "rejudge", str(batch_id), "--model", kind)
    assert "PENDING (no_oracle) → PASS" in out
    assert "No verdict changed" in typed(
        api, tmp_path, "rejudge", str(batch_id), "--model", strict, "--beside"
    )
    listed = typed(api, tmp_path, "judges", str(batch_id))
    assert f"{kind}@{PROMPT_VERSION}" in listed.replace("\n", "")
    assert "2 runs, $" in listed
    names = (f"{kind}@{PROMPT_VERSION}", f"{strict}@{PROMPT_VERSION}")
    compared = typed(api, tmp_path, "judges", str(batch_id), "--compare", *names)
    assert "2 runs read by both, 0 judged alike" in compared
    assert "PASS | FAIL (incomplete)" in compared
    assert "uncalibrated: people decided 0 of the 30 runs needed" in typed(api, tmp_path, "judges")
    run_id = api.get("/api/runs", batch_id=batch_id)["items"][0]["id"]
    shown = typed(api, tmp_path, "show", str(run_id))
    assert f"@{PROMPT_VERSION}" in shown
    assert "uncalibrated" in shown


def test_other_lines_are_read_from_a_file_and_a_model_without_an_answer_is_told(
    api: Api, batch_id: int, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.yaml"
    lines.write_text("- Rhymes.\n- {id: short, text: Has two lines.}\n")
    answer = all_of("met", "rubric_1", "rubric_2")
    answer["answer"]["criteria"][-1]["status"] = "not_met"
    model = script(tmp_path / "rubric.jsonl", answer)
    out = typed(api, tmp_path, "rejudge", str(batch_id), "--model", model, "--rubric", str(lines))
    assert "→ FAIL (constraint_violated)" in out
    broken = typed(api, tmp_path, "rejudge", str(batch_id), "--model", "refusing:timeout")
    assert "not read: The judge model gave no verdict" in broken
    assert "No verdict changed" in broken
    lines.write_text("- [not a line]\n")
    assert "/rubric/0" in typed(api, tmp_path, "rejudge", str(batch_id), "--rubric", str(lines), code=2)
    lines.write_text("- {")
    assert "lines.yaml" in typed(api, tmp_path, "rejudge", str(batch_id), "--rubric", str(lines), code=2)
