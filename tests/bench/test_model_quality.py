"""The figures of a model: which answer counts as what, and that an interrupted measurement goes on."""

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.repository import ROOT

sys.path.append(str(ROOT / "bench"))  # its modules are scripts, not a package

import model_quality
from model_quality import Kept, measure, report, table
from pipelines.core.simulation.fidelity.recording import read_recording
from pipelines.core.text.json_text import dumps
from quality import backend, judge, plans, recorded_plans, rules, simulator
from quality.purposes import MEASURED

ALL = [*MEASURED]
UNUSABLE = {"answer": {"nobody": "asked"}}


def _find(kind: str, id: str) -> Any:
    return {"find": {"as": kind, "in": kind, "id": id, "else": {"status": 404, "error": "unknown_id"}}}


def _require(condition: str, error: str) -> Any:
    return {"require": condition, "else": {"status": 409, "error": error}}


READER_KEPT = {"reader.sheets": "reader.sheets - 1", "reader.owes": "reader.owes + fee"}
PLANS: dict[str, Any] = {
    "find_sheets": [
        {
            "find": {
                "as": "sheet",
                "in": "sheet",
                "all": True,
                "where": "lower(sheet.region) == lower(args.region)",
            }
        },
        {
            "return": {
                "count": "len(sheet)",
                "sheets": "[{'sheet_id': id_of(one), 'title': one.title, 'free': one.lent_to == null}"
                " for one in sheet]",
            }
        },
    ],
    "lend_sheet": [
        _find("sheet", "args.sheet_id"),
        _find("reader", "args.reader_id"),
        _require("sheet.lent_to == null", "sheet_out"),
        _require("reader.owes <= 0", "account_open"),
        _require("reader.sheets < 2", "too_many"),
        {
            "set": {
                "sheet.lent_to": "args.reader_id",
                "sheet.loans": "sheet.loans + 1",
                "reader.sheets": "reader.sheets + 1",
            }
        },
        {
            "return": {
                "sheet_id": "args.sheet_id",
                "reader_id": "args.reader_id",
                "days": "min(args.days, 3 if sheet.kind == 'fragile' else 14)",
            }
        },
    ],
    "take_back": [
        _find("sheet", "args.sheet_id"),
        _require("sheet.lent_to != null", "not_lent"),
        _find("reader", "sheet.lent_to"),
        {"let": {"fee": "default(args.days_late, 0) * 1.5 * (2 if sheet.kind == 'fragile' else 1)"}},
        {"set": {"sheet.lent_to": "null", **READER_KEPT}},
        {"return": {"sheet_id": "args.sheet_id", "fee": "fee"}},
    ],
    "reader_account": [
        _find("reader", "args.reader_id"),
        {
            "return": {
                "reader_id": "args.reader_id",
                "name": "reader.name",
                "owes": "reader.owes",
                "held": "[id_of(one) for one in entities('sheet') if one.lent_to == args.reader_id]",
            }
        },
    ],
    "settle": [
        _find("reader", "args.reader_id"),
        _require("args.amount <= reader.owes", "too_much"),
        {"set": {"reader.owes": "reader.owes - args.amount"}},
        {"return": {"reader_id": "args.reader_id", "owes": "reader.owes"}},
    ],
}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Measures a scripted model; gives the lines that are kept, by what was measured."""
    results = tmp_path / "results.jsonl"

    def ask(script: list[Any] | None, *wanted: str, questions: int = 1) -> dict[str, list[Kept]]:
        file = tmp_path / "script.jsonl"
        file.write_bytes(b"\n".join(dumps(line) for line in script or [UNUSABLE]))
        monkeypatch.setenv("PIPELINES_MODEL", "refusing:" if script is None else f"scripted:{file}")
        options = argparse.Namespace(questions=questions, results=results, fresh=False)
        kept = asyncio.run(measure(wanted, options))
        return {name: [one for one in kept if one.measured == name] for name in wanted}

    return ask


def outcomes(kept: list[Kept]) -> list[str]:
    return [answer.model for one in kept for answer in one.answers]


def test_a_model_that_fails_is_right_nowhere_and_its_cases_stay_as_they_were(asked: Any) -> None:
    kept = asked(None, *ALL)
    assert {*outcomes(kept["judge"]), *outcomes(kept["simulator"])} == {"failed"}
    assert {*outcomes(kept["plans"]), *outcomes(kept["recorded_plans"])} == {"open"}
    assert outcomes(kept["rules"]) == [answer.embedded for one in kept["rules"] for answer in one.answers]
    assert all(answer.why for one in kept["judge"] for answer in one.answers)


def test_answers_are_kept_and_not_asked_for_again(asked: Any) -> None:
    first = asked(None, "judge", questions=2)
    again = asked([], "judge", questions=2)  # a model that would fail otherwise
    assert again == first
    assert len(asked([], "judge", questions=3)["judge"]) == 3


def test_a_half_written_line_is_asked_again(asked: Any, tmp_path: Path) -> None:
    first = asked(None, "judge", questions=2)["judge"]
    (tmp_path / "results.jsonl").write_text(first[0].line() + first[1].line()[:40])
    assert len(asked(None, "judge", questions=2)["judge"]) == 2


def test_a_verdict_counts_by_which_way_it_is_wrong() -> None:
    """By the set's own verdicts: half of its cases are lies."""
    found = {
        (decided, case): judge.outcome_of(decided, {"verdict": case})
        for decided in ("PASS", "FAIL", "PENDING")
        for case in ("PASS", "FAIL")
    }
    assert found == {
        ("PASS", "PASS"): "right",
        ("FAIL", "FAIL"): "right",
        ("PASS", "FAIL"): "wrong PASS",
        ("FAIL", "PASS"): "wrong FAIL",
        ("PENDING", "PASS"): "open",
        ("PENDING", "FAIL"): "open",
    }


def test_a_reply_is_held_against_what_the_set_expects(asked: Any) -> None:
    (question,) = simulator.questions(1)
    wrong = {
        "reason": "So.",
        "status": 418,
        "response": {"error": {"code": "no", "message": "No."}},
        "updates": [],
    }
    kept = asked([{"answer": wrong}], "simulator")["simulator"]
    assert kept[0].cases == [*question.cases]
    assert outcomes(kept) == ["wrong"]
    assert "418" in kept[0].answers[0].why
    assert kept[0].used["tokens"] > 0


def test_the_backend_and_its_own_plans_agree_on_calls_that_no_plan_has_seen() -> None:
    """Plans can say all that the made backend does, so a model's plans can reach every call."""
    lines = backend.recorded(recorded_plans.TASKS, recorded_plans.CALLS, "model quality")
    held_out = read_recording({}, [*lines[1::2]])
    as_read = recorded_plans.outcomes(held_out, {})
    written = recorded_plans.outcomes(held_out, PLANS)
    right = [one.fm_forced and one.cm_forced for one in written]
    assert all(right), [one.mismatch for one in written if not (one.fm_forced and one.cm_forced)][:3]
    assert sum(one.fm_forced and one.cm_forced for one in as_read) < len(as_read) / 2
    assert {one.tool for one in written} == {str(tool["name"]) for tool in backend.TOOLS}


def test_plans_that_a_model_writes_are_replayed_on_calls_that_it_was_not_shown(asked: Any) -> None:
    plans = [{"tool": tool, "why": "So.", "steps": steps, "examples": []} for tool, steps in PLANS.items()]
    script = [{"answer": {"plans": plans[:4]}, "times": 1}, {"answer": {"plans": plans[4:]}}]  # four a turn
    kept = asked(script, "recorded_plans", questions=5)
    answers = kept["recorded_plans"][0].answers
    assert len(answers) == recorded_plans.TASKS // 2 * recorded_plans.CALLS
    assert {answer.model for answer in answers} == {"right"}, [one for one in answers if one.why][:3]
    assert sum(answer.embedded == "right" for answer in answers) < len(answers) / 2


@pytest.mark.parametrize("name", ALL)
def test_questions_are_the_same_each_time_and_as_many_as_asked_for(name: str) -> None:
    questions = MEASURED[name].questions
    assert [one.cases for one in questions(4)] == [one.cases for one in questions(4)]
    asked_for = sum(len(one.cases) for one in questions(4))
    assert asked_for == (2 if name == "plans" else 4)


def test_the_table_has_a_line_for_each_and_says_what_nobody_knows() -> None:
    answer = {"case": "a/1", "embedded": "open", "model": "right", "why": ""}
    used = {"questions": 1, "tokens": 1200, "nanousd": 0, "unpriced": 1}
    line = json.dumps(
        {"measured": "judge", "cases": ["a/1"], "answers": [answer], "used": used, "seconds": 2.0}
    )
    kept = [Kept.read(line)]
    lines = [*table(["judge", "rules"], kept)]
    assert (
        lines[2] == "| answers that evidence leaves open | 1 | 1 open | 1 right | 1 | 1,200 | unknown | 2 s |"
    )
    assert lines[3].startswith("| sentences | 0 | – | – |")
    assert report(kept)["model"] == {"right": 1}
    assert Kept.read(kept[0].line()) == kept[0]


def test_every_kind_is_of_the_newest_set() -> None:
    blind = ROOT / "tests" / "blind"
    assert blind / "sentences_fifteenth" == rules.SET
    assert blind / "transcripts_fifteenth" == judge.SET
    assert (blind / "tools_twelfth", blind / "tools_twelfth") == (plans.SET, simulator.SET)
    assert model_quality.QUESTIONS <= 10
