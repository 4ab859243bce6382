"""The simulator of one agent: authored plans win, the rest is read, rules are applied in, nothing is
shared."""

from dataclasses import replace

import pytest
from invented_backends import DEVOPS, LIBRARY, NOTHING, Backend, tool

from pipelines.core.ledger.ledger import Ledger, Update, World, fold
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.simulator import Moment, SimulatedReply, SimulationFailed
from pipelines.core.text.json_text import Json, JsonObject, dumps
from pipelines.core.text.problems import Problem

NOW = "2026-01-15T10:30:00Z"
AUTHORED: Json = [{"return": {"by": "'the author'"}}]


def simulator(backend: Backend, behavior: str | None = None, **plans: Json) -> PlannedSimulator:
    tools = [replace(one, simulation=plans.get(one.name)) for one in backend.tools]
    world = World.from_initial_state(backend.state)
    return build_simulator(tools, ledger_schema=backend.ledger_schema, world=world, behavior=behavior)


def answer(given: PlannedSimulator, backend: Backend, name: str, arguments: JsonObject) -> SimulatedReply:
    ledger = Ledger(World.from_initial_state(backend.state))
    return given.answer(name, arguments, ledger, Moment(seed="s", call_number=1, now=NOW))


def test_an_authored_plan_wins_over_a_read_one() -> None:
    built = simulator(LIBRARY, count_books=AUTHORED)
    assert answer(built, LIBRARY, "count_books", {}).response == {"by": "the author"}
    assert built.plans["count_books"].origin == "authored"
    assert built.plans["findBooks"].origin == "read"


def test_an_authored_plan_may_be_a_mapping_with_steps() -> None:
    built = simulator(LIBRARY, count_books={"steps": AUTHORED})
    assert answer(built, LIBRARY, "count_books", {}).response == {"by": "the author"}


def test_a_plan_that_cannot_be_read_fails_the_call_and_says_where() -> None:
    built = simulator(LIBRARY, count_books=[{"retrun": 1}])
    assert built.plans["count_books"].plan is None
    with pytest.raises(SimulationFailed, match="retrun") as failed:
        answer(built, LIBRARY, "count_books", {})
    assert failed.value.code == "no_plan"


def test_a_tool_that_is_not_declared_is_named() -> None:
    with pytest.raises(SimulationFailed, match="zap") as failed:
        answer(simulator(LIBRARY), LIBRARY, "zap", {})
    assert failed.value.code == "tool_not_declared"


def test_plans_lists_every_tool_and_compiles_each_once() -> None:
    built = simulator(LIBRARY)
    assert list(built.plans) == [one.name for one in LIBRARY.tools]
    assert len(built.plans) == len(LIBRARY.tools)
    assert built.plans["count_books"] is built.plans["count_books"]
    assert "zap" not in built.plans


def test_what_was_not_understood_comes_with_the_reply() -> None:
    shop = Backend(state={"stock": {"A": {"price": 1}}}, tools=(tool("search_stocks", sector="text"),))
    assert any(
        "sector" in note for note in answer(simulator(shop), shop, "search_stocks", {"sector": "x"}).notes
    )


def test_rules_of_the_behaviour_text_are_woven_in() -> None:
    behavior = (
        "create_loan only succeeds when the book's year is at least 1900; "
        "otherwise it returns a 409 too_old error."
    )
    built = simulator(LIBRARY, behavior)
    assert built.not_understood == ()
    old = answer(built, LIBRARY, "create_loan", {"book_id": "b-2", "member_id": "m-7"})
    assert (old.status, old.response["error"]["code"]) == (409, "too_old")  # type: ignore[index,call-overload]
    assert answer(built, LIBRARY, "create_loan", {"book_id": "b-1", "member_id": "m-7"}).status == 200


def test_a_sentence_that_is_not_understood_is_named_and_the_rest_goes_on() -> None:
    built = simulator(LIBRARY, "Bananas are yellow.")
    (told,) = built.not_understood
    assert told.startswith("Bananas are yellow. (reading stopped at “Bananas”")
    assert built.unenforced == ("Bananas are yellow.",)
    assert answer(built, LIBRARY, "count_books", {}).response == {"count": 3}


def test_a_reply_proposes_its_changes_and_leaves_the_ledger_alone() -> None:
    world = World.from_initial_state(DEVOPS.state)
    ledger = Ledger(world)
    built = simulator(DEVOPS)
    before = dumps(ledger.as_state())
    reply = built.answer(
        "create_deployment", {"service": "web"}, ledger, Moment(seed="s", call_number=1, now=NOW)
    )
    assert dumps(ledger.as_state()) == before
    ledger.apply(reply.updates)
    assert dumps(ledger.as_state()) == dumps(fold(world, reply.updates).as_state())


def test_the_same_calls_get_byte_equal_replies_from_two_simulators() -> None:
    calls: list[tuple[str, JsonObject]] = [
        ("create_task", {"title": "t"}),
        ("complete_task", {"task_id": "1"}),
        ("list_tasks", {}),
        ("frobnicate_widget", {"size": 2}),
    ]

    def replies() -> bytes:
        built, ledger, said = simulator(NOTHING), Ledger(World.from_initial_state({})), []
        for number, (name, arguments) in enumerate(calls, start=1):
            reply = built.answer(name, arguments, ledger, Moment(seed="s", call_number=number, now=NOW))
            ledger.apply(reply.updates)
            said.append([reply.response, [update.as_json() for update in reply.updates]])
        return dumps(said)

    assert replies() == replies()


ORDERS = Backend(
    state={"order": {"1": {"status": "shipped", "total": 5}}},
    tools=(tool("get_order", order_id="text"), tool("say_order", order_id="text", status="text")),
)
WRONG: JsonObject = {"order_id": "1", "status": "paid", "total": 5}
SAYS: Json = [{"return": {"order_id": "args.order_id", "status": "args.status"}}]
PROBLEMS = [Problem(path="/status", message="is 'paid', but order 1 has 'shipped'")]


def test_a_read_plan_that_contradicts_the_ledger_is_answered_from_it_and_says_so() -> None:
    ledger = Ledger(World.from_initial_state(ORDERS.state))
    again = simulator(ORDERS).again("get_order", ledger, SimulatedReply(200, WRONG), PROBLEMS)
    assert again.response == {"order_id": "1", "status": "shipped", "total": 5}
    assert [PROBLEMS[0].message in note for note in again.notes] == [True]


def test_it_is_answered_from_the_ledger_as_the_call_leaves_it() -> None:
    ledger = Ledger(World.from_initial_state(ORDERS.state))
    change = Update(entity_type="order", id="1", set={"status": "cancelled"})
    again = simulator(ORDERS).again("get_order", ledger, SimulatedReply(200, WRONG, (change,)), PROBLEMS)
    assert (again.response, again.updates) == (WRONG | {"status": "cancelled"}, (change,))
    assert ledger.get("order", "1") == {"status": "shipped", "total": 5}


def test_what_an_author_wrote_is_not_changed() -> None:
    ledger = Ledger(World.from_initial_state(ORDERS.state))
    with pytest.raises(SimulationFailed, match="the same answer each time"):
        simulator(ORDERS, say_order=SAYS).again("say_order", ledger, SimulatedReply(200, WRONG), PROBLEMS)


@pytest.mark.parametrize("behavior", [None, "say_order requires a status."])
def test_an_author_may_assert_what_a_plan_answers(behavior: str | None) -> None:
    """Under rules of the behaviour text as well as without."""
    for asserted in (True, False):
        built = simulator(ORDERS, behavior, say_order={"steps": SAYS, "asserted": asserted})
        assert built.not_understood == ()
        reply = answer(built, ORDERS, "say_order", {"order_id": "1", "status": "paid"})
        assert ("any field there is" in reply.computed) is asserted


def test_asserted_is_true_or_false() -> None:
    built = simulator(ORDERS, say_order={"steps": SAYS, "asserted": "yes"})
    assert "/simulation/asserted: `asserted` must be true or false" in built.plans["say_order"].notes
