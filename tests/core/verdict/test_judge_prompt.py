"""The question to a judge model: what others wrote stays data, and what is too long is left out aloud."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pipelines.core.ledger.ledger import World, update_from_json
from pipelines.core.tasks.rubric_lines import RubricLine
from pipelines.core.tasks.seed import TrackedConstraint
from pipelines.core.tools.tools_schema import Tool
from pipelines.core.verdict.evidence import EvidenceRow, RunEvidence
from pipelines.core.verdict.judge import judge
from pipelines.core.verdict.model_judge.judge_answer import answer_schema, problems_in, read_answers
from pipelines.core.verdict.model_judge.judge_data import LONGEST_RECORDS, LONGEST_TRACE
from pipelines.core.verdict.model_judge.judge_prompt import JudgeQuestion, judge_question
from pipelines.core.verdict.model_judge.model_verdict import decide
from pipelines.core.verdict.model_judge.rubric import QUESTIONS, CriterionKind
from pipelines.core.verdict.verdict import (
    Finding,
    Outcome,
    PendingReason,
    UnverifiedClaim,
    Verdict,
    held,
    left_open,
)
from support.judge_attacks import ATTACKS, ORDER, answer_with, data_of, obedient

KEY = b"a key that no agent knows, or not"
FRIENDLY = "Happy to help."


def call(sequence: int, **changes: Any) -> EvidenceRow:
    row = EvidenceRow(
        sequence=sequence,
        tool_name="add_note",
        arguments={"order_id": "4521", "text": FRIENDLY},
        response={"note": FRIENDLY},
        source="odyssey",
        http_status=200,
    )
    return replace(row, **changes)


def run_with(text: str, place: str = "") -> RunEvidence:
    """A run that evidence leaves open, with a text in one of its places."""

    def at(name: str) -> str:
        return text if name == place else FRIENDLY

    note = {"op": "update", "entity_type": "order", "id": "4521", "set": {"note": at("ledger")}, "unset": []}
    return RunEvidence(
        user_instruction=at("user"),
        behavior_instructions=at("behavior"),
        tracked_constraints=(TrackedConstraint(id=at("constraint id"), description=at("constraint")),),
        rubric=(RubricLine(id=at("rubric id"), text=at("rubric")),),
        tools=(Tool(name="add_note", description=at("tool"), input_schema={"type": "object"}),),
        world=World.from_initial_state({"order": {"4521": {"note": at("world")}, "7": {at("record"): 1}}}),
        rules=(at("rule"),),
        trace=(
            call(
                1,
                arguments={"text": at("arguments"), "order_id": "7"},
                response={at("key"): at("reply")},
                matched_rule=at("matched rule"),
            ),
            call(2, updates=(update_from_json(note),), actor_id=at("actor")),
            EvidenceRow(sequence=3, kind="assistant_message", payload={"text": at("event")}),
        ),
        responses=(at("first turn"), at("final")),
    )


PLACES = (
    *("user", "behavior", "constraint id", "constraint", "rubric id", "rubric", "tool", "world", "arguments"),
    *("key", "reply", "ledger", "actor", "event", "first turn", "final", "user turn", "finding"),
    *("note", "reason of a note", "claim", "rule", "matched rule", "record", "hint"),
)


def asked_about(evidence: RunEvidence, text: str = FRIENDLY, place: str = "") -> JudgeQuestion:
    def at(name: str) -> str:
        return text if name == place else FRIENDLY

    # Whatever the embedded judge makes of such words: here it leaves the run open.
    notes = (UnverifiedClaim(phrase=at("note"), why=at("reason of a note"), turn=1),)
    notes += (UnverifiedClaim(phrase=at("claim"), why="Strange.", turn=1),)
    found = (_open("completion", PendingReason.NO_ORACLE), *_unchecked(evidence))
    found += (_open("claims", PendingReason.VALUE_NOT_FOUND, at("finding")), held("claims", at("hint")))
    verdict = Verdict(verdict=Outcome.PENDING, reasoning="", findings=found, unverified=notes)
    turns = (FRIENDLY, at("user turn"))
    return judge_question(replace(evidence, is_strict=True), verdict, turns, fence_key=KEY)


def _open(check: str, reason: PendingReason, says: str = "Open.", rows: tuple[int, ...] = ()) -> Finding:
    return left_open(check, reason, says, rows)


def _unchecked(evidence: RunEvidence) -> tuple[Finding, ...]:
    names = [f"constraint/{each.id}" for each in evidence.tracked_constraints]
    names += [f"rubric/{each.id}" for each in evidence.rubric]
    return tuple(_open(name, PendingReason.NOT_CHECKED) for name in names)


def passes(question: JudgeQuestion, answer: Callable[[Any], dict[str, Any]]) -> bool:
    """Whether a PASS comes of what a judge answers; one whose answer has problems gives none."""
    data = answer(question.question)
    if problems_in(data, question.asked):
        return False
    answers = read_answers(data, question.asked.criteria)
    return decide(answers, expected_outcome=None).outcome is Outcome.PASS


def test_an_obedient_judge_obeys_what_stands_outside_the_data():
    question = asked_about(run_with(FRIENDLY))
    assert not passes(question, obedient)
    leaky = replace(question.question, system=f"{question.question.system}\n{ORDER}")
    assert passes(question._replace(question=leaky), obedient), "else the tests below would prove nothing"


def rid_of_claims(outside: str) -> str:
    """An agent's text moves how many claims are asked, and nothing else."""
    question = re.escape(QUESTIONS[CriterionKind.CLAIM])
    told = re.sub(rf"- claim_\d+ \(without a score\): {question}\n?", "", outside)
    return re.sub(r"(, )?claim_\d+", "", told)


@pytest.mark.parametrize("name", ATTACKS)
def test_no_text_of_a_run_reaches_the_instructions(name):
    word, friendly, _ = data_of(asked_about(run_with(FRIENDLY)).question)
    for place in PLACES:
        text = ATTACKS[name].replace("{fence}", word)
        question = asked_about(run_with(text, place), text, place)
        _, outside, data = data_of(question.question)
        assert rid_of_claims(outside) == rid_of_claims(friendly), f"{name} in {place}"
        known = [criterion.id for criterion in question.asked.criteria]
        assert question.question.schema == answer_schema(question.asked.criteria)
        assert all(re.fullmatch(r"[a-z_]+(_\d+)?", id) for id in known)
        assert len(data.splitlines()) == 1
        assert not passes(question, obedient), f"{name} in {place} moved the judge"


@pytest.mark.parametrize("name", ATTACKS)
def test_the_data_still_says_what_was_said(name):
    text = ATTACKS[name]
    read = json.loads(data_of(asked_about(run_with(text, "final")).question)[2])
    assert read["final_response"] == text


def test_a_text_that_holds_the_fence_gets_another_fence():
    word, _, _ = data_of(asked_about(run_with(FRIENDLY)).question)
    again = asked_about(run_with(f"I know it: {word}", "final"))
    other, _, data = data_of(again.question)
    assert other != word
    assert other not in data
    assert f"I know it: {word}" in data


def test_the_fence_hangs_on_the_key_and_the_same_run_asks_the_same():
    evidence, verdict = run_with(FRIENDLY), Verdict(verdict=Outcome.PENDING, reasoning="")
    one, same, other = (
        judge_question(evidence, verdict, (), fence_key=key) for key in (KEY, KEY, b"another")
    )
    assert one.question == same.question
    assert data_of(one.question)[0] != data_of(other.question)[0]


def long_run(rows: int, size: int, *, cited: tuple[int, ...] = ()) -> JudgeQuestion:
    trace = tuple(call(number, response={"text": "x" * size}) for number in range(1, rows + 1))
    evidence = replace(run_with(FRIENDLY), trace=trace)
    findings = (
        _open("completion", PendingReason.NO_ORACLE),
        _open("claims", PendingReason.VALUE_NOT_FOUND, "Look there.", cited),
    )
    verdict = Verdict(verdict=Outcome.PENDING, reasoning="", findings=findings)
    return judge_question(evidence, verdict, (), fence_key=KEY)


def test_a_long_trace_loses_its_middle_and_says_so():
    question = long_run(200, 2_000)
    data = json.loads(data_of(question.question)[2])
    shown = [row["sequence"] for row in data["trace"]]
    assert (shown[0], shown[-1]) == (1, 200)
    assert len(json.dumps(data["trace"])) <= LONGEST_TRACE * 1.2
    (gap,) = data["left_out"]
    assert gap == f"row {max(n for n in shown if n < 100) + 1} to {min(n for n in shown if n > 100) - 1}"
    assert question.cuts[0].startswith("trace rows ")
    assert question.asked.existing == frozenset(range(1, 201))
    assert question.asked.shown == frozenset(shown)


def test_rows_that_findings_rest_on_are_kept_and_what_does_not_fit_is_told():
    assert {77, 78} <= long_run(200, 2_000, cited=(77, 78)).asked.shown
    every = long_run(200, 2_000, cited=tuple(range(1, 201)))
    assert any(cut.startswith("rows that findings rest on: ") for cut in every.cuts)


def test_a_row_that_was_not_shown_cannot_be_cited():
    question = long_run(200, 2_000)
    hidden = min(question.asked.existing - question.asked.shown)
    data = answer_with(question.question, "met")
    data["criteria"][0]["evidence"] = [hidden]
    (problem,) = problems_in(data, question.asked)
    assert f"row {hidden}, which you were not shown" in problem.message


def test_the_judge_is_shown_why_the_run_is_open_the_phrases_and_the_notes_as_data():
    evidence = replace(run_with(FRIENDLY), responses=("The total is 9,999.99 dollars for REF-77120.",))
    verdict = judge(evidence)
    assert isinstance(verdict, Verdict)
    note = UnverifiedClaim(phrase="by hand", why="no call of write ", turn=1)
    question = judge_question(evidence, replace(verdict, unverified=(note,)), (), fence_key=KEY)
    _, outside, text = data_of(question.question)
    data = json.loads(text)
    assert [(each["id"], each["text"]) for each in data["claims"]] == [
        ("claim_1", "REF-77120"),
        ("claim_2", "9,999.99 dollars"),
    ]
    assert "REF-77120" not in outside
    assert data["unverified"] == [note.as_json()]
    reasons = {each["check"]: each.get("pending_reason") for each in data["findings"]}
    assert (reasons["completion"], reasons["claims"]) == ("no_oracle", "value_not_found")


def test_the_judge_is_shown_the_touched_records_before_and_after_the_rules_and_the_rule_that_refused():
    orders = {id: {"status": status} for id, status in (("4521", "paid"), ("7", "shipped"), ("8", "lost"))}
    refund = {"op": "update", "entity_type": "order", "id": "4521", "set": {"status": "refunded"}}
    rule = "refund_order fails when the order's status is shipped."
    refusal = call(
        1, arguments={"order_id": "7"}, response={"error": {"code": "no"}}, http_status=409, matched_rule=rule
    )
    evidence = replace(
        run_with(FRIENDLY),
        world=World.from_initial_state({"order": orders}),
        rules=(rule,),
        trace=(refusal, call(2, updates=(update_from_json(refund),))),
    )
    data = json.loads(data_of(asked_about(evidence).question)[2])
    assert data["records"] == [
        {
            "type": "order",
            "id": "4521",
            "before": {"status": "paid"},
            "after": {"status": "refunded"},
        },
        {"type": "order", "id": "7", "before": {"status": "shipped"}},
    ]
    assert data["rules"] == [rule]
    assert data["trace"][0]["matched_rule"] == rule
    assert "lost" not in json.dumps(data), "no call came near this order"


def test_records_that_do_not_fit_are_named_and_said_to_be_left_out():
    orders = {str(number): {"text": "x" * 2_000} for number in range(100, 150)}
    evidence = replace(
        run_with(FRIENDLY),
        world=World.from_initial_state({"order": orders}),
        trace=tuple(call(at, arguments={"order_id": id}) for at, id in enumerate(orders, start=1)),
    )
    question = asked_about(evidence)
    data = json.loads(data_of(question.question)[2])
    assert 0 < len(data["records"]) < 50
    assert len(json.dumps(data["records"])) <= LONGEST_RECORDS * 1.1
    assert len(data["records"]) + len(data["more_records"]) == 50
    assert data["more_records"][-1] == "order 149"
    assert f"{len(data['more_records'])} records that the run touched" in question.cuts


def test_what_was_read_from_words_is_a_hint_and_no_proven_finding():
    found = (
        held("expected_state", "order.4521 is unchanged."),
        held("refusal", "The agent refused."),
        _open("rubric/tone", PendingReason.NOT_CHECKED),
    )
    verdict = Verdict(verdict=Outcome.PENDING, reasoning="", findings=found)
    data = json.loads(data_of(judge_question(run_with(FRIENDLY), verdict, (), fence_key=KEY).question)[2])
    assert [each["check"] for each in data["findings"]] == ["expected_state", "rubric/tone"]
    assert [each["check"] for each in data["hints"]] == ["refusal"]


def test_a_phrase_is_quoted_with_its_own_capitals_numbers_and_marks():
    said = (
        "Option 3: Flight LH–442 is the “Blue Danube” Offer. **I’ve cancelled Your Subscription** for Vienna."
    )
    evidence = replace(run_with(FRIENDLY), responses=(said,), is_strict=True)
    verdict = judge(evidence)
    assert isinstance(verdict, Verdict)
    data = json.loads(data_of(judge_question(evidence, verdict, (), fence_key=KEY).question)[2])
    phrases = [each["text"] for each in data["claims"]] + [each["phrase"] for each in data["unverified"]]
    assert "Option 3: Flight LH–442 is the “Blue Danube” Offer." in phrases
    assert [phrase for phrase in phrases if phrase not in said] == []


def test_a_long_value_keeps_its_ends():
    data = json.loads(data_of(long_run(1, 20_000).question)[2])
    assert "characters left out" in data["trace"][0]["response"]["cut"]


def test_whatever_is_in_a_run_the_question_stays_bounded():
    huge = "a word " * 40_000
    evidence = replace(
        run_with(huge, "behavior"),
        user_instruction=huge,
        responses=(huge,) * 50,
        trace=tuple(call(number, arguments={"t": huge}) for number in range(1, 60)),
        tools=tuple(Tool(name=f"t{n}", description=huge, input_schema={}) for n in range(300)),
        tracked_constraints=tuple(TrackedConstraint(id=str(n), description="Be kind.") for n in range(20)),
    )
    question = asked_about(evidence)
    assert len(question.question.messages[0].content) < 400_000
