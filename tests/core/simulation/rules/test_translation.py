"""Sentences as a model's rules: the question, what is wrong with an answer, what the rules do when tried."""

from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rule_translation.prompt import FORM_HELP, instructions
from pipelines.core.simulation.rule_translation.translation import (
    AnswerCheck,
    rule_problems,
    translation_question,
    translation_schema,
    translations,
)
from pipelines.core.simulation.rule_translation.trial import TranslationTrial, try_translation
from pipelines.core.simulation.rules.forms import FORMS
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.tools.tools_schema import parse_tools_schema


def tool(name: str, description: str, *required: str, **optional: Any) -> Any:
    properties = {each: {"type": "string"} for each in required} | optional
    return {
        "name": name,
        "description": description,
        "input_schema": {"type": "object", "properties": properties, "required": [*required]},
    }


TOOLS = parse_tools_schema(
    [
        tool("release_shipment", "Release a shipment. Its status becomes 'released'.", "shipment_id"),
        tool("get_shipment", "Get a shipment by its id.", "shipment_id"),
        tool("list_shipments", "List all shipments."),
    ]
)
STATE = {
    "shipment": {
        f"s-{n}": {
            "status": "held",
            "weight": 10 * n,
            "hazard": "acid" if n % 2 else "none",
            "seal": f"SEAL-{n}99",
        }
        for n in range(6)
    }
}
HEAVY = "Anything the crane cannot lift stays put."
AT = Moment("t", 1, "2026-05-01T12:00:00Z")
LIFT = {
    "form": "require",
    "tools": ["release_shipment"],
    "expression": "shipment.weight <= 30",
    "status": 409,
    "error": "too_heavy",
    "message": "It is too heavy",
}


def simulator(sentence: str, *rules: Any) -> PlannedSimulator:
    translated = {sentence: [*rules]} if rules else {}
    world = World.from_initial_state(STATE)
    return build_simulator(TOOLS, world=world, behavior=sentence, translated=translated)


def call(under: PlannedSimulator, tool: str, **arguments: Any) -> SimulatedReply:
    return under.answer(tool, arguments, Ledger(under.world), AT)


def tried(sentence: str, *rules: Any, text: str | None = None) -> TranslationTrial:
    return try_translation(sentence, [*rules], simulator(text or sentence))


def test_a_sentence_that_is_not_read_is_enforced_by_its_translation() -> None:
    without, under = simulator(HEAVY), simulator(HEAVY, LIFT)
    assert without.unread == (HEAVY,)
    assert under.not_understood == ()
    assert under.why_not_covered("release_shipment") is None
    assert call(under, "release_shipment", shipment_id="s-2").status == 200
    refused: Any = call(under, "release_shipment", shipment_id="s-5")
    assert (refused.status, refused.response["error"]["code"]) == (409, "too_heavy")
    plan: Any = under.plan_of("release_shipment").plan
    assert HEAVY in [step.get("note") for step in plan.body]


def test_a_translation_wins_over_how_the_language_reads_the_sentence() -> None:
    said = "release_shipment fails when the shipment's weight is above 10."
    assert call(simulator(said), "release_shipment", shipment_id="s-2").status == 409
    assert call(simulator(said, LIFT), "release_shipment", shipment_id="s-2").status == 200
    shown = tried(said, LIFT)
    assert shown.as_json()["differ"] == 2, "as against the sentence saying nothing"
    assert shown.problem is None


def test_a_translation_is_shown_as_a_sentence_with_calls_that_pass_and_are_refused() -> None:
    shown: Any = tried(HEAVY, LIFT).as_json()
    assert shown["read_as"] == [
        'release_shipment fails with 409 too_heavy "It is too heavy" unless'
        " the shipment's weight is at most 30."
    ]
    assert {key: shown[key] for key in ("calls", "differ", "refused", "problem", "warning")} == {
        "calls": 6,
        "differ": 2,
        "refused": 2,
        "problem": None,
        "warning": None,
    }
    (example,) = shown["examples"]
    assert example["rule"] == LIFT
    assert [one["arguments"]["shipment_id"] for one in example["refused"]] == ["s-4", "s-5"]
    assert all(one["status"] == 200 for one in example["passes"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"expression": "shipment.colour == 'red'"}, "`shipment` has no field `colour`"),
        ({"expression": "shipment.weight <= "}, "expression"),
        ({"expression": "whatever(shipment.weight)"}, "no function `whatever`"),
    ],
)
def test_a_rule_that_cannot_be_read_or_finds_no_place_is_refused(change: Any, says: str) -> None:
    assert says in str(tried(HEAVY, LIFT | change).problem)


def test_a_rule_that_changes_nothing_is_told_and_may_be_accepted() -> None:
    shown = tried(HEAVY, LIFT | {"expression": "shipment.weight < 1000"})
    assert shown.problem is None
    assert shown.warning == "in the seeded world every shipment passes"


def test_error_codes_keep_their_spelling() -> None:
    rule = LIFT | {"error": "TooHeavy.Crane-2"}
    assert rule_problems([rule], simulator(HEAVY).vocabulary) == []
    response: Any = call(simulator(HEAVY, rule), "release_shipment", shipment_id="s-5").response
    assert response["error"]["code"] == "TooHeavy.Crane-2"


FORM_CASES: list[tuple[str, Any, str, Any]] = [
    (
        "Masks seals.",
        {"form": "mask", "tools": ["get_shipment"], "target": "seal", "count": 2},
        "seal",
        "******99",
    ),
    ("Hides it.", {"form": "without", "tools": ["get_shipment"], "names": ["seal"]}, "seal", None),
    (
        "Says tons.",
        {"form": "put", "tools": ["get_shipment"], "target": "tons", "expression": "reply.weight / 10"},
        "tons",
        3.0,
    ),
    (
        "Marks reads.",
        {
            "form": "set",
            "tools": ["get_shipment"],
            "target": "shipment.status",
            "expression": "'seen'",
            "when": "shipment.weight > 20",
        },
        "status",
        "seen",
    ),
]


@pytest.mark.parametrize(
    ("sentence", "rule", "field", "value"), FORM_CASES, ids=[form[1]["form"] for form in FORM_CASES]
)
def test_forms_do_what_they_say(sentence: str, rule: Any, field: str, value: Any) -> None:
    said = f"Strangely {sentence}"
    under = simulator(said, rule)
    assert under.not_understood == ()
    response: Any = call(under, "get_shipment", shipment_id="s-3").response
    assert response.get(field) == value
    assert tried(said, rule).count("differ") > 0


def test_lists_are_kept_sorted_and_cut() -> None:
    rules = [
        {"form": "keep", "tools": ["list_shipments"], "expression": "each.hazard != 'acid'"},
        {"form": "sort", "tools": ["list_shipments"], "target": "-weight"},
        {"form": "take", "tools": ["list_shipments"], "count": 2},
    ]
    response: Any = call(simulator("Strange lists.", *rules), "list_shipments").response
    listed = (
        response if isinstance(response, list) else next(v for v in response.values() if isinstance(v, list))
    )
    assert [one["weight"] for one in listed] == [40, 20]


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({"form": "require", "tools": ["release_shipmet"], "expression": "true"}, "/0"),
        ({"form": "require", "tools": ["release_shipment"]}, "/0/expression"),
        ({"form": "explode", "tools": ["release_shipment"]}, "/0/form"),
        ({"form": "remove", "tools": ["release_shipment"], "target": "parcel"}, "/0"),
        ({"form": "take", "tools": ["list_shipments"], "count": 3, "when": "true"}, "/0/when"),
        ({"form": "require", "tools": ["get_shipment"], "expression": "each.weight > 1"}, "/0/expression"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(rule: Any, where: str) -> None:
    assert [problem.path for problem in rule_problems([rule], simulator(HEAVY).vocabulary)] == [where]


def test_a_rule_whose_tool_is_gone_leaves_its_sentence_reported_and_everything_else_enforced() -> None:
    text = f"release_shipment only works on held shipments. {HEAVY}"
    world = World.from_initial_state(STATE)
    broken = {HEAVY: [LIFT | {"tools": ["gone"]}]}
    under = build_simulator(TOOLS, world=world, behavior=text, translated=broken)
    assert under.not_applied == {HEAVY: "there is no tool gone"}
    assert len(under.enforced) == 1


def test_the_question_names_tools_fields_sentences_every_form_and_every_function() -> None:
    question = translation_question(HEAVY, [HEAVY], simulator(HEAVY).vocabulary)
    told = question.messages[0].content
    assert all(word in told for word in ("release_shipment", "shipment_id", "weight", HEAVY))
    assert question.prompt_version == "rules/2"
    assert {*FORM_HELP} == {*FORMS}
    system = instructions()
    assert all(f"- {form} (" in system for form in FORMS)
    assert all(f"- {one.signature}: {one.help}" in system for one in FUNCTIONS.values())
    rule: Any = translation_schema()["properties"]["sentences"]["items"]["properties"]["rules"]["items"]  # type: ignore[call-overload, index]
    assert {*rule["properties"]} == {"form", "tools"} | {
        key for form in FORMS.values() for part in form for key in part
    }


def test_what_is_wrong_with_an_answer_is_told_once_and_then_left_to_its_sentence() -> None:
    answer: Any = {"sentences": [{"number": 1, "rules": [LIFT]}]}
    vocabulary = simulator(HEAVY).vocabulary
    assert not AnswerCheck([HEAVY], vocabulary)(answer)
    assert translations(answer, [HEAVY]) == {HEAVY: ([LIFT], None)}
    wrong: Any = {
        "sentences": [{"number": 2, "rules": []}, {"number": 1, "rules": [LIFT | {"tools": ["x"]}]}]
    }
    check = AnswerCheck([HEAVY], vocabulary)
    assert [one.path for one in check(wrong)] == ["/sentences/0/number", "/sentences/1/rules/0"]
    assert [one.path for one in check(wrong)] == ["/sentences/0/number"]
