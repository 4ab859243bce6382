"""Sentences as a model's rules: the question, what is wrong with an answer, what the rules do when tried."""

import re
from typing import Any

import pytest

from pipelines.core.ledger.ledger import Ledger, World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rule_translation.prompt import FORM_HELP, instructions
from pipelines.core.simulation.rule_translation.translation import (
    Translation,
    number_problems,
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
from support.scripted_models import data_of


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


def example(shipment: str, outcome: str = "allowed", **more: Any) -> Any:
    call = {"tool": "release_shipment", "arguments": {"shipment_id": shipment}}
    return call | {"outcome": outcome} | more


LIGHT_GOES = example("s-1", after={"shipment": {"s-1": {"status": "released"}}})
HEAVY_STAYS = example("s-5", "refused", status=409, error="too_heavy")


def simulator(sentence: str, *rules: Any) -> PlannedSimulator:
    translated = {sentence: [*rules]} if rules else {}
    world = World.from_initial_state(STATE)
    return build_simulator(TOOLS, world=world, behavior=sentence, translated=translated)


def call(under: PlannedSimulator, tool: str, **arguments: Any) -> SimulatedReply:
    return under.answer(tool, arguments, Ledger(under.world), AT)


def tried(sentence: str, *rules: Any, examples: Any = (LIGHT_GOES, HEAVY_STAYS)) -> TranslationTrial:
    return try_translation(sentence, Translation(1, [*rules], None, tuple(examples)), simulator(sentence))


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
    shown = tried(said, LIFT, examples=[example("s-2"), HEAVY_STAYS])
    assert shown.problem is None


def test_a_translation_is_shown_as_a_sentence_with_its_examples_and_what_came_of_them() -> None:
    shown: Any = tried(HEAVY, LIFT).as_json()
    assert shown["read_as"] == [
        'release_shipment fails with 409 too_heavy "It is too heavy" unless'
        " the shipment's weight is at most 30."
    ]
    assert (shown["problem"], shown["warning"]) == (None, None)
    assert [(one["status"], one["problem"]) for one in shown["examples"]] == [(200, None), (409, None)]
    assert shown["examples"][1]["expected"] == {"outcome": "refused", "status": 409, "error": "too_heavy"}


NOT_FOUND = {
    "form": "not_found",
    "tools": ["release_shipment"],
    "target": "shipment",
    "status": 410,
    "error": "GONE",
}


def test_an_unknown_id_is_tried_where_the_example_names_one() -> None:
    calls = [example("s-999", "refused", status=410, error="GONE"), LIGHT_GOES]
    assert tried("No ghosts.", NOT_FOUND, examples=calls).problem is None
    assert "expected the error GONE, not shipment_not_found" in str(
        tried(HEAVY, LIFT, examples=[calls[0] | {"status": 404}, LIGHT_GOES]).problem
    )


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (example("s-5"), "expected allowed, but the call is refused: 409"),
        (example("s-1", "refused"), "expected refused, but the call is allowed: 200"),
        (example("s-5", "refused", error="heavy"), "expected the error heavy, not too_heavy"),
        (example("s-5", "refused", status=422), "expected status 422, not 409"),
        (example("s-1", after={"shipment": {"s-1": {"status": "held"}}}), 'not {"status":"released"'),
        (example("s-1", after={"shipment": {"s-1": None}}), "expected shipment s-1 to be null"),
        (example("s-1", after={"shipment": {"new": {}}}), "expected shipment new to be {}"),
        (example("s-1", reply={"status": "held"}), 'expected the reply {"status":"held"}'),
        (example("s-1") | {"tool": "lift"}, "there is no tool `lift`"),
        (example("s-1") | {"arguments": {}}, "does not accept the arguments {}"),
    ],
)
def test_an_example_that_comes_out_otherwise_says_how(one: Any, says: str) -> None:
    shown = tried(HEAVY, LIFT, examples=[LIGHT_GOES, one])
    assert says in str(shown.examples[1]["problem"])
    assert str(shown.problem).startswith("example 2: ")


def test_an_example_may_state_records_earlier_calls_and_another_time() -> None:
    told = example("s-5", given={"shipment": {"s-5": {"weight": 3}}}, reply={"status": "released"})
    new = example("x-1", "refused", given={"shipment": {"x-1": {"weight": 31}}})
    assert tried(HEAVY, LIFT, examples=[told, new]).problem is None
    once = {"form": "limit_calls", "tools": ["release_shipment"], "count": 1}
    before = [{"tool": "release_shipment", "arguments": {"shipment_id": "s-2"}}]
    again = example("s-1", "refused", before=before)
    assert tried("Only one.", once, examples=[LIGHT_GOES, again]).problem is None
    late = {"form": "require", "tools": ["release_shipment"], "expression": "is_before(now, '2026-02-01')"}
    calls = [LIGHT_GOES, example("s-1", "refused", now="2026-03-01T00:00:00Z")]
    assert tried("No more.", late, examples=calls).problem is None


def test_rules_without_two_examples_cannot_be_accepted() -> None:
    assert "at least 2 are needed" in str(tried(HEAVY, LIFT, examples=[LIGHT_GOES]).problem)


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
    passes = [LIGHT_GOES, example("s-5")]
    shown = tried(HEAVY, LIFT | {"expression": "shipment.weight < 1000"}, examples=passes)
    assert shown.problem is None
    assert shown.warning == "in the seeded world every shipment passes"


@pytest.mark.parametrize(
    "code", ["ORDER_SHIPPED", "TooHeavy.Crane-2", "4091", "crane/too-heavy", "E:12", "ZU_SCHWER_Ä"]
)
def test_error_codes_keep_their_spelling(code: str) -> None:
    rule = LIFT | {"error": code}
    assert rule_problems([rule], simulator(HEAVY).vocabulary) == []
    response: Any = call(simulator(HEAVY, rule), "release_shipment", shipment_id="s-5").response
    assert response["error"]["code"] == code
    schema: Any = translation_schema()
    in_schema = schema["properties"]["sentences"]["items"]["properties"]["rules"]["items"]["properties"]
    assert re.search(in_schema["error"]["pattern"], code)
    shown = tried(HEAVY, rule, examples=[LIGHT_GOES, HEAVY_STAYS | {"error": code}])
    assert (shown.problem, code in shown.read_as[0]) == (None, True)


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
    seen = {"tool": "get_shipment", "arguments": {"shipment_id": "s-3"}, "outcome": "allowed"}
    assert tried(said, rule, examples=[seen, seen | {"reply": {field: value}}]).problem is None


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


def test_the_question_says_of_every_form_what_it_means() -> None:
    """A form that is missing there is never used by a model, and nothing else would show it."""
    assert {*FORM_HELP} == {*FORMS}
    assert all(says.strip() for says in FORM_HELP.values())


def test_the_question_carries_what_the_tools_do_and_the_whole_language() -> None:
    question = translation_question(HEAVY, [HEAVY], simulator(HEAVY), now="2026-05-01T12:00:00Z")
    data = data_of(question)
    release, get, _ = data["tools"]
    assert (release["description"], release["required"]) == (TOOLS[0].description, ["shipment_id"])
    assert release["arguments"] == {"shipment_id": {"type": "string"}}
    assert "Set shipment.status to “released”." in release["does"]
    assert (release["sets"], get["sets"], release["about"]) == (["shipment.status"], [], "shipment")
    assert data["now"] == "2026-05-01T12:00:00Z"
    assert data["world"]["shipment"]["count"] == 6
    assert data["world"]["shipment"]["records"]["s-1"] == STATE["shipment"]["s-1"]
    assert data["sentences"] == {"1": HEAVY}
    system = instructions()
    assert all(f"- {form} (" in system for form in FORMS)
    assert all(f"- {one.signature}: {one.help}" in system for one in FUNCTIONS.values())
    assert all(name in system for name in ("`now`", "entities('order')", "entity('user'", "days_between("))
    rule: Any = translation_schema()["properties"]["sentences"]["items"]["properties"]["rules"]["items"]  # type: ignore[call-overload, index]
    assert {*rule["properties"]} == {"form", "tools"} | {
        key for form in FORMS.values() for part in form for key in part
    }


def test_the_question_tells_what_is_in_force_already() -> None:
    text = f"{HEAVY} release_shipment fails when the shipment's weight is above 10."
    question = translation_question(text, [HEAVY], simulator(text))
    assert "10" in data_of(question)["tools"][0]["does"]


def test_an_answer_numbers_each_sentence_once() -> None:
    answer: Any = {"sentences": [{"number": 1, "rules": [LIFT], "examples": [LIGHT_GOES]}]}
    assert not number_problems(answer, [HEAVY])
    assert translations(answer, [HEAVY]) == {HEAVY: (1, [LIFT], None, (LIGHT_GOES,))}
    wrong: Any = {"sentences": [{"number": number, "rules": []} for number in (2, 1, 1)]}
    assert [one.path for one in number_problems(wrong, [HEAVY])] == [
        "/sentences/0/number",
        "/sentences/2/number",
    ]
