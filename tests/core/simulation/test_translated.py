"""Sentences that nothing here reads, as a model's rules: read, tried on both sides, woven like any rule."""

from typing import Any

import pytest

from pipelines.core.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply
from pipelines.core.simulation.translated.proposal import tried_rule
from pipelines.core.simulation.translated.rule_forms import read_rules
from pipelines.core.simulation.translated.translation import (
    translated,
    translation_problems,
    translation_question,
)
from pipelines.core.tools_schema import parse_tools_schema


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


def test_a_sentence_that_is_not_understood_is_enforced_by_its_translation() -> None:
    without, under = simulator(HEAVY), simulator(HEAVY, LIFT)
    assert without.not_understood == (HEAVY,)
    assert under.not_understood == ()
    assert under.why_not_covered("release_shipment") is None
    assert call(under, "release_shipment", shipment_id="s-2").status == 200
    refused: Any = call(under, "release_shipment", shipment_id="s-5")
    assert (refused.status, refused.response["error"]["code"]) == (409, "too_heavy")
    plan: Any = under.plan_of("release_shipment").plan
    assert HEAVY in [step.get("note") for step in plan.body]


def test_both_sides_are_tried_on_the_seeded_world() -> None:
    tried = tried_rule(HEAVY, [LIFT], simulator(HEAVY, LIFT), simulator(HEAVY))
    assert tried.as_json() == {"calls": 6, "differ": 2, "refused": 2, "problem": None}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"expression": "shipment.weight < 1000"}, "every shipment of the world passes"),
        ({"expression": "shipment.weight > 1000"}, "no shipment of the world passes"),
        ({"expression": "shipment.colour == 'red'"}, "no shipment of the world has colour"),
        ({"expression": "shipment.weight <= "}, "cannot be read"),
        ({"expression": "whatever(shipment.weight)"}, "cannot be read"),
    ],
)
def test_a_rule_that_is_vacuous_or_cannot_be_read_is_refused(change: Any, says: str) -> None:
    rule = LIFT | change
    assert says in str(tried_rule(HEAVY, [rule], simulator(HEAVY, rule), simulator(HEAVY)).problem)


FORMS: list[tuple[str, Any, str, Any]] = [
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
    ("sentence", "rule", "field", "value"), FORMS, ids=[form[1]["form"] for form in FORMS]
)
def test_forms_do_what_they_say(sentence: str, rule: Any, field: str, value: Any) -> None:
    said = f"Strangely {sentence}"
    under = simulator(said, rule)
    assert under.not_understood == ()
    response: Any = call(under, "get_shipment", shipment_id="s-3").response
    assert response.get(field) == value
    assert tried_rule(said, [rule], under, simulator(said)).differ > 0


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
        ({"form": "require", "tools": ["release_shipmet"], "expression": "true"}, "/0/tools"),
        ({"form": "require", "tools": ["release_shipment"]}, "/0/expression"),
        ({"form": "explode", "tools": ["release_shipment"]}, "/0/form"),
        (
            {"form": "set", "tools": ["release_shipment"], "target": "parcel.x", "expression": "1"},
            "/0/target",
        ),
        ({"form": "take", "tools": ["list_shipments"], "count": 3, "when": "true"}, "/0/when"),
        ({"form": "require", "tools": ["get_shipment"], "expression": "each.weight > 1"}, "/0/expression"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(rule: Any, where: str) -> None:
    _, problems = read_rules("S.", [rule], simulator(HEAVY).lexicon)
    assert [problem.path for problem in problems] == [where]


def test_a_broken_rule_leaves_its_sentence_reported_and_everything_else_enforced() -> None:
    text = f"release_shipment only works on held shipments. {HEAVY}"
    world = World.from_initial_state(STATE)
    broken = {HEAVY: [LIFT | {"tools": ["gone"]}]}
    under = build_simulator(TOOLS, world=world, behavior=text, translated=broken)
    assert under.not_understood == (HEAVY,)
    assert len(under.enforced) == 1


def test_the_question_names_tools_fields_and_sentences_and_its_answer_is_checked() -> None:
    lexicon = simulator(HEAVY).lexicon
    question = translation_question(HEAVY, [HEAVY], lexicon)
    told = question.messages[0].content
    assert all(word in told for word in ("release_shipment", "shipment_id", "weight", HEAVY))
    answer: Any = {"sentences": [{"number": 1, "rules": [LIFT]}]}
    assert not translation_problems(answer, [HEAVY], lexicon)
    assert translated(answer, [HEAVY]) == {HEAVY: ([LIFT], None)}
    twice: Any = {
        "sentences": [{"number": 2, "rules": []}, {"number": 1, "rules": [LIFT | {"tools": ["x"]}]}]
    }
    assert [one.path for one in translation_problems(twice, [HEAVY], lexicon)] == [
        "/sentences/0/number",
        "/sentences/1/rules/0/tools",
    ]
