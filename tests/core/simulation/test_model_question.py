"""What a model is shown of a world, of a tool's schema and of the calls before: bounded, always the same."""

from typing import Any

import pytest
from asked_model import Desk, checked

from pipelines.core.ledger.ledger import Ledger, SetFlag, Update, World
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.simulation.by_model import calls_so_far, relevant
from pipelines.core.simulation.by_model.added_text import without_text
from pipelines.core.simulation.by_model.answer_schema import answer_schema
from pipelines.core.simulation.by_model.calls_so_far import CallsSoFar
from pipelines.core.simulation.by_model.leaked_text import quotation_problems
from pipelines.core.simulation.by_model.model_call import ModelReply
from pipelines.core.simulation.by_model.relevant import shown_world
from pipelines.core.simulation.domain.references import references_in
from pipelines.core.simulation.simulator import SimulationFailed
from pipelines.core.text.json_text import dumps
from pipelines.core.tools.trace_row import TOOL_CALL, TraceRow
from support.scripted_models import data_of, outside_of

SHOP = {
    "order": {f"o-{n}": {"user_id": f"u-{n % 7}", "total": n, "text": f"parcel {n}"} for n in range(300)},
    "user": {f"u-{n}": {"name": f"Person {n}", "company_id": "c-1" if n == 3 else "c-2"} for n in range(7)},
    "company": {"c-1": {"name": "Mill"}, "c-2": {"name": "Forge"}},
    "session": {"main": {"user_id": "u-3"}},
}


def shown(arguments: Any, ledger: Ledger | None = None, kind: str | None = "order") -> relevant.ShownWorld:
    ledger = ledger or Ledger(World.from_initial_state(SHOP))
    return shown_world(arguments, ledger, kind=kind, references=references_in(ledger.world))


# -- the world ---------------------------------------------------------------------------------------------


def test_what_the_call_names_and_what_that_is_linked_with_is_shown() -> None:
    found = shown({"order_id": "o-3"})
    assert {("order", "o-3"), ("user", "u-3"), ("company", "c-1"), ("session", "main")} <= found.entities
    assert next(iter(found.world["shown"]["order"])) == "o-3"  # type: ignore[index,call-overload]


def test_ids_are_known_in_other_spellings_and_deep_inside_the_arguments() -> None:
    assert ("order", "o-17") in shown({"items": [{"order": "#17"}]}).entities


def test_what_points_at_a_record_is_shown_with_it() -> None:
    found = shown({"user_id": "u-2"}, kind="user")
    orders = list(found.world["shown"]["order"])[:20]  # type: ignore[index,call-overload,arg-type]
    assert all(int(id[2:]) % 7 == 2 for id in orders), "those come before the others"


def test_words_find_records() -> None:
    found = shown({"query": "the forge"}, kind="company")
    assert next(iter(found.world["shown"]["company"])) == "c-2"  # type: ignore[index,call-overload]


def test_what_the_run_changed_is_shown_as_it_is_now() -> None:
    ledger = Ledger(World.from_initial_state(SHOP))
    ledger.apply([Update(entity_type="user", id="u-6", set={"name": "New"}), SetFlag(flag="outage")])
    found = shown({"order_id": "o-3"}, ledger)
    assert found.world["shown"]["user"]["u-6"]["name"] == "New"  # type: ignore[index,call-overload]
    assert found.world["flags"] == ["outage"]


def test_the_rest_is_counted_and_nothing_is_over_the_limit() -> None:
    large = {"order": {f"o-{n}": {"text": "x" * 500, "total": n} for n in range(5000)}}
    found = shown({"order_id": "o-4999"}, Ledger(World.from_initial_state(large)))
    count = len(found.entities)
    assert ("order", "o-4999") in found.entities
    assert found.world["not_shown"] == {"order": {"count": 5000 - count, "fields": ["text", "total"]}}
    assert len(dumps(found.world)) < relevant.MOST_CHARACTERS + 2_000


TWELVE = {
    "room": {f"r-{n}": {"beds": n} for n in range(1, 7)},
    "booking": {f"b-{n}": {"room_id": f"r-{n}", "night": f"2026-05-0{n}"} for n in range(1, 5)},
    "guest": {"g-1": {"name": "Ada"}, "g-2": {"name": "Bo"}},
}
FREE = {"type": "object"}
BOOK = [{"name": "book_room", "description": "Book a room for a night.", "input_schema": FREE}]


def test_a_world_that_fits_is_shown_whole_and_said_to_be_all() -> None:
    call = Desk(BOOK, TWELVE, "book_room is strange.").question("book_room", {"room": "r-5"})
    told = data_of(call.question)
    assert told["world"]["shown"] == TWELVE
    assert "not_shown" not in told["world"]
    assert "is all that exists" in outside_of(call.question)


def test_a_world_of_which_a_part_is_shown_is_never_said_to_be_all() -> None:
    large = TWELVE | {"night": {f"n-{n}": {"text": "x" * 300} for n in range(400)}}
    call = Desk(BOOK, large, "book_room is strange.").question("book_room", {"room": "r-5"})
    assert "not_shown" in data_of(call.question)["world"]
    assert "all that exists" not in outside_of(call.question)


def test_all_records_of_the_types_that_the_tool_or_the_text_names_come_before_the_others() -> None:
    """`slot` is named by the text alone, and nothing links to it."""
    slots = {f"s-{n}": {"hour": n, "text": "h" * 300} for n in range(30)}
    noise = {f"x-{n}": {"text": "y" * 2_000} for n in range(20)}
    state = {"audit": noise, "slot": slots, **TWELVE}
    call = Desk(BOOK, state, "book_room takes a strange slot.").question("book_room", {"room": "r-5"})
    told = data_of(call.question)["world"]
    assert told["shown"]["slot"] == slots
    assert told["shown"]["room"] == TWELVE["room"]
    assert set(told["not_shown"]) == {"audit"}


def test_the_next_free_id_of_each_type_and_the_time_of_day_are_told() -> None:
    desk = Desk(BOOK, TWELVE, "book_room is strange.")
    told = data_of(desk.question("book_room", {}).question)
    assert told["world"]["next_ids"] == {"room": "r-7", "booking": "b-5", "guest": "g-3"}
    assert told["now"].startswith("2026-05-01T12:00")
    added = {"op": "add", "entity_type": "booking", "id": "b-5", "attrs": {"room_id": "r-5"}}
    desk.play("book_room", {}, lambda question: reply({}) | {"updates": [added]})
    assert data_of(desk.question("book_room", {}).question)["world"]["next_ids"]["booking"] == "b-6"


# -- records that were not shown -----------------------------------------------------------------------------

LARGE = {
    "room": {f"r-{n}": {"beds": 2, "state": f"state {n}", "text": "x" * 900} for n in range(60)},
    "guest": {"g-1": {"room_id": "r-50"}},
}


def played(answer: Any) -> Any:
    return Desk(BOOK, LARGE, "book_room is strange.").play("book_room", {"guest": "nobody"}, answer)


@pytest.mark.parametrize(
    ("response", "updates"),
    [
        ({"room_id": "r-57", "state": "state 57"}, []),
        ({"free": ["r-57"]}, []),
        ({}, [{"op": "update", "entity_type": "room", "id": "r-57", "set": {"beds": 3}, "unset": []}]),
        ({}, [{"op": "remove", "entity_type": "room", "id": "r-57"}]),
    ],
    ids=["its fields", "its id", "an update", "a removal"],
)
def test_an_answer_about_a_record_that_was_not_shown_is_asked_for_again_with_it(
    response: Any, updates: Any
) -> None:
    found = played(lambda question: reply(response) | {"updates": updates})
    first, second = (data_of(question)["world"]["shown"]["room"] for question in found.questions)
    assert "r-57" not in first
    assert second["r-57"] == LARGE["room"]["r-57"]
    assert not found.problems
    assert (found.decision.http_status, len(found.decision.updates)) == (200, len(updates))


def test_an_answer_about_what_was_shown_is_asked_for_once() -> None:
    """Also where it repeats the id of a record that it only knows from another one."""
    found = played(lambda question: reply({"guest_id": "g-1", "room_id": "r-50"}))
    assert len(found.questions) == 1


def test_a_change_of_a_type_that_the_call_has_nothing_to_do_with_is_refused() -> None:
    state = LARGE | {"audit": {f"a-{n}": {"text": "z" * 900} for n in range(60)}}
    change = {"op": "remove", "entity_type": "audit", "id": "a-59"}
    desk = Desk(BOOK, state, "book_room is strange.")
    found = desk.play("book_room", {}, lambda question: reply({}) | {"updates": [change]})
    assert "was not shown" in found.problems[0].message


def test_an_answer_is_asked_for_again_only_once() -> None:
    """Each time about another record: the second answer is held to the checks, as it is."""
    ids = iter(["r-57", "r-58", "r-59"])

    def answer(question: Any) -> Any:
        change = {"op": "update", "entity_type": "room", "id": next(ids), "set": {"beds": 3}, "unset": []}
        return reply({}) | {"updates": [change]}

    found = played(answer)
    assert len(found.questions) == 3
    assert "was not shown" in found.problems[0].message


def test_a_record_too_large_is_shown_cut_and_cannot_be_written_whole() -> None:
    tools = [{"name": "note_order", "description": "Note.", "input_schema": {"type": "object"}}]
    state = {"order": {"o-1": {"lines": [{"text": "y" * 400} for _ in range(50)], "status": "new"}}}
    call = Desk(tools, state, "note_order is strange.").question("note_order", {"order_id": "o-1"})
    assert call.expected.shown.cut == {("order", "o-1")}
    for changed, is_wrong in (({"status": "noted"}, False), ({"lines": []}, True)):
        update = {"op": "update", "entity_type": "order", "id": "o-1", "set": changed, "unset": []}
        answer = {"reason": "", "status": 200, "response": {}, "updates": [update]}
        assert bool(checked(call, answer)) is is_wrong


# -- the schema ---------------------------------------------------------------------------------------------


def reply(response: Any) -> Any:
    return {"reason": "", "status": 200, "response": response, "updates": []}


def fits(output_schema: Any, response: Any) -> bool:
    return CompiledSchema(answer_schema(output_schema)).accepts(reply(response))


def test_the_reply_follows_the_tools_own_schema_with_its_references() -> None:
    schema = {
        "type": "object",
        "properties": {"order": {"$ref": "#/$defs/order"}},
        "required": ["order"],
        "$defs": {"order": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
    }
    assert fits(schema, {"order": {"id": "o-1"}})
    assert not fits(schema, {"order": {"id": 1}})
    assert fits(schema, {"error": {"code": "no", "message": "No."}})


TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}},
    "required": ["name"],
}
PAIR = {
    "$ref": "#/$defs/a",
    "$defs": {
        "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
        "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}, "n": {"type": "integer"}}},
    },
}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (TREE, {"name": "x", "children": [{"name": "y"}]}, {"children": []}),
        (PAIR, {"b": {"n": 1}}, {"b": {"n": "x"}}),
    ],
)
def test_a_schema_that_refers_to_itself_is_opened_where_its_circle_closes(
    schema: Any, good: Any, bad: Any
) -> None:
    made = answer_schema(schema)
    assert not refers_to_itself(made)
    assert fits(schema, good)
    assert not fits(schema, bad)


def refers_to_itself(schema: Any) -> bool:
    """Whether following references from the root ever comes back to where it is."""

    def follow(node: Any, above: tuple[int, ...]) -> bool:
        if id(node) in above:
            return True
        if isinstance(node, list):
            return any(follow(item, above) for item in node)
        if not isinstance(node, dict):
            return False
        here = (*above, id(node))
        target = None
        if isinstance(node.get("$ref"), str):
            target = schema
            for part in node["$ref"].split("/")[1:]:
                target = target[part]
        return any(follow(value, here) for value in node.values()) or follow(target, here)

    return follow(schema, ())


def test_the_declared_schema_is_held_against_what_was_left_open() -> None:
    tools = [
        {
            "name": "run_tree",
            "description": "Runs.",
            "input_schema": {"type": "object"},
            "output_schema": TREE,
        }
    ]
    call = Desk(tools, {}, "run_tree is strange.").question("run_tree", {})
    assert not checked(call, reply({"name": "x", "children": [{"name": "y"}]}))
    (problem,) = checked(call, reply({"name": "x", "children": [{"name": 3}]}))
    assert problem.path == "/response/children/0/name"


def test_a_schema_of_another_draft_is_told_and_checked_but_not_moved() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    assert "$defs" not in answer_schema(schema)


# -- the calls before ---------------------------------------------------------------------------------------


def row(number: int, response: str = "{}", **changes: Any) -> TraceRow:
    made = TraceRow(
        run_id=1,
        sequence=number,
        kind=TOOL_CALL,
        tool_name="get_order",
        source="odyssey",
        http_status=200,
        error_code=None,
        matched_rule_index=None,
        latency_ms=1.0,
        actor_id=None,
        idempotency_key=None,
        occurred_at="",
        arguments=f'{{"n":{number}}}',
        response=response,
        updates=None,
        validation=None,
        payload=None,
        call_number=number,
        is_valid=1,
    )
    return made._replace(**changes)


def test_the_newest_calls_are_kept_within_their_limits() -> None:
    calls = CallsSoFar()
    for number in range(200):
        calls.take(row(number, dumps({"text": "z" * 5_000}).decode()))
    told = calls.reported_calls()
    assert told[-1]["arguments"] == {"n": 199}  # type: ignore[index,call-overload]
    assert len(dumps(told)) < calls_so_far.MOST_CHARACTERS * 1.2
    assert told[-1]["response"].endswith("(cut)")  # type: ignore[index,call-overload,union-attr]


def test_injected_failures_and_calls_without_an_outcome_are_not_told() -> None:
    calls = CallsSoFar()
    before = calls.digest
    calls.take(row(1, source="injected", http_status=503))
    calls.take(row(2, source="error", http_status=None))
    calls.take(row(3, call_number=None))
    assert (calls.reported_calls(), calls.digest) == ([], before)


def test_the_text_of_an_eval_variation_changes_no_question() -> None:
    plain, under = CallsSoFar(), CallsSoFar("Be quick.")
    plain.take(row(1, '{"a":1}'))
    under.take(row(1, '{"a":1,"notice":"Be quick."}'))
    assert (plain.reported_calls(), plain.digest) == (under.reported_calls(), under.digest)
    assert without_text("done\n\nBe quick.", "Be quick.") == "done"


# -- what is not said ---------------------------------------------------------------------------------------


def test_a_message_that_the_author_put_in_quotes_may_be_said() -> None:
    rules = 'When the order has shipped answer with "this order has shipped and can not be changed any more".'
    said = {"message": "This order has shipped and can not be changed any more"}
    assert not [*quotation_problems(said, (rules,), "data-1", "")]
    told = {"message": "When the order has shipped answer with this and that"}
    assert [*quotation_problems(told, (rules,), "data-1", "")]


def test_an_answer_that_was_kept_is_held_to_the_checks_again() -> None:
    tools = [{"name": "run_close", "description": "Runs.", "input_schema": {"type": "object"}}]
    desk = Desk(tools, {"order": {"o-1": {"status": "new"}}}, "run_close is strange.")
    call = desk.question("run_close", {"order_id": "o-1"})
    update = {"op": "remove", "entity_type": "order", "id": "o-9"}
    kept = ModelReply({"reason": "", "status": 200, "response": {}, "updates": [update]}, "m", 1, 1)
    with pytest.raises(SimulationFailed) as failed:
        desk.run.simulator.settle(call, kept, desk.run.ledger, desk.run.moment(1))
    assert failed.value.code == "wrong_schema"
