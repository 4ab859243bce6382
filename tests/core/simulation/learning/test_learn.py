"""What a search finds in a handful of recorded calls, tried on calls that nobody recorded."""

import pytest

from pipelines.core.ledger.ledger import Update
from pipelines.core.simulation.learning import LearnedPlans, Options, learn
from support.learnt_plans import (
    Row,
    answer,
    called,
    changed,
    learnt,
    recorded,
    searched_plan,
    task,
    tool,
    tools_of,
)


def order(status: str, total: float = 10.0, owner: str = "u1") -> Row:
    return {"status": status, "total": total, "owner": owner}


def cancelled(id: str, total: float) -> Row:
    return task(
        {"order": {"o1": order("open", 30.0), "o2": order("open", 12.5), "o3": order("shipped", 7.0)}},
        called(
            "cancel",
            {"order_id": id},
            {"message": f"Order {id} is cancelled, {total:.2f} comes back"},
            changed("order", id, status="cancelled"),
        ),
        called(
            "cancel",
            {"order_id": "o3"},
            {"error": "Order o3 is shipped"},
            error=True,
        ),
        called("cancel", {"order_id": "o9"}, {"error": "There is no order o9"}, error=True),
    )


def test_changes_replies_and_refusals_are_learnt_together() -> None:
    plans = learnt([cancelled("o1", 30.0), cancelled("o2", 12.5)], tool("cancel", "order_id"))
    plan = plans.by_tool()["cancel"].plan
    state: Row = {"order": {"77": order("open", 99.5), "78": order("shipped")}}
    reply = answer(plan, {"order_id": "77"}, state)
    assert reply.response == {"message": "Order 77 is cancelled, 99.50 comes back"}
    assert reply.updates == (Update(entity_type="order", id="77", set={"status": "cancelled"}),)
    refused = answer(plan, {"order_id": "78"}, state)
    assert (refused.status, refused.response, refused.updates) == (400, {"error": "Order 78 is shipped"}, ())
    assert answer(plan, {"order_id": "1"}, state).response == {"error": "There is no order 1"}


def test_one_example_is_enough_to_see_where_a_value_comes_from() -> None:
    state: Row = {"user": {"u1": {"name": "Ada", "city": "Linz"}}}
    one = called("where_is", {"user_id": "u1"}, {"user": "Ada", "place": "Linz"})
    plan = searched_plan(learnt([task(state, one)], tool("where_is", "user_id")), "where_is")
    other: Row = {"user": {"u2": {"name": "Bob", "city": "Graz"}}}
    assert answer(plan, {"user_id": "u2"}, other).response == {"user": "Bob", "place": "Graz"}


def test_numbers_are_computed_and_rounded() -> None:
    def bought(price: float, count: int, total: float) -> Row:
        call = called("quote", {"sku": "a", "count": count}, {"total": total})
        return task({"item": {"a": {"price": price}}}, call)

    tasks = [bought(9.99, 3, 32.37), bought(4.5, 2, 9.72), bought(1.25, 7, 9.45)]  # 8 % on top
    plan = searched_plan(learnt(tasks, tool("quote", "sku", "count")), "quote")
    assert answer(plan, {"sku": "a", "count": 10}, {"item": {"a": {"price": 2.0}}}).response == {
        "total": 21.6
    }


BOOKS: Row = {
    "book": {
        "1": {"title": "Dune", "genre": "novel", "year": 1965},
        "2": {"title": "Emma", "genre": "novel", "year": 1815},
        "3": {"title": "Cosmos", "genre": "science", "year": 1980},
        "4": {"title": "Ulysses", "genre": "novel", "year": 1922},
    }
}


def test_lists_are_filtered_and_ordered_and_an_argument_may_be_left_out() -> None:
    calls = [
        called("find", {"genre": "novel"}, [{"id": id, "title": BOOKS["book"][id]["title"]} for id in "241"]),
        called("find", {"genre": "science"}, [{"id": "3", "title": "Cosmos"}]),
        called("find", {}, [{"id": id, "title": BOOKS["book"][id]["title"]} for id in "2413"]),
        called("find", {"genre": "poems"}, []),
    ]
    plan = searched_plan(learnt([task(BOOKS, one) for one in calls], tool("find", "genre")), "find")
    state: Row = {
        "book": {
            "8": {"title": "B", "genre": "art", "year": 2},
            "9": {"title": "A", "genre": "art", "year": 1},
        }
    }
    assert answer(plan, {"genre": "art"}, state).response == [
        {"id": "9", "title": "A"},
        {"id": "8", "title": "B"},
    ]
    assert answer(plan, {"genre": "novel"}, state).response == []


def test_a_table_answers_what_was_seen_and_misses_visibly_what_was_not() -> None:
    rates = {"post": 4.5, "truck": 30.0, "bike": 7.25}
    calls = [called("rate", {"carrier": name}, {"cost": cost}) for name, cost in rates.items()]
    plan = searched_plan(learnt([task({}, *calls)] * 3, tool("rate", "carrier")), "rate")
    assert answer(plan, {"carrier": "truck"}, {}).response == {"cost": 30.0}
    missed = answer(plan, {"carrier": "drone"}, {})
    assert missed.status == 501
    assert missed.response["error"]["code"] == "not_recorded"  # type: ignore[index, call-overload]


def test_a_list_grows_only_where_the_element_is_new() -> None:
    def added(before: list[str], given: str) -> Row:
        after = before if given in before else [*before, given]
        effect = [] if given in before else [changed("user", "u1", tags=after)]
        return task(
            {"user": {"u1": {"tags": before}}},
            called("tag", {"user_id": "u1", "tag": given}, {"tags": after}, *effect),
        )

    tasks = [added(["a"], "b"), added([], "c"), added(["a", "b"], "a"), added(["d"], "d"), added(["x"], "y")]
    plan = searched_plan(learnt(tasks, tool("tag", "user_id", "tag")), "tag")
    state: Row = {"user": {"u7": {"tags": ["k"]}}}
    assert answer(plan, {"user_id": "u7", "tag": "m"}, state).response == {"tags": ["k", "m"]}
    assert answer(plan, {"user_id": "u7", "tag": "k"}, state).updates == ()


def test_a_counter_gives_the_id_of_a_record_that_is_added() -> None:
    def opened(number: int, title: str) -> Row:
        attrs: Row = {"title": title, "state": "open"}
        return task(
            {"desk": {"main": {"next": number}}, "ticket": {"1": {"title": "old", "state": "closed"}}},
            called(
                "open",
                {"title": title},
                {"ticket": number, **attrs},
                changed("desk", "main", next=number + 1),
                {"op": "add", "entity_type": "ticket", "id": str(number), "attrs": attrs},
            ),
        )

    plan = searched_plan(learnt([opened(7, "x"), opened(12, "y")], tool("open", "title")), "open")
    reply = answer(plan, {"title": "z"}, {"desk": {"main": {"next": 40}}, "ticket": {}})
    assert reply.response == {"ticket": 40, "title": "z", "state": "open"}
    assert [update.as_json()["id"] for update in reply.updates if update.as_json()["op"] == "add"] == ["40"]


def test_an_error_that_comes_as_a_text_with_status_200_is_one() -> None:
    state: Row = {"user": {"u1": {"mail": "a@x.test"}}}
    calls = [
        called("mail_of", {"user_id": "u1"}, "a@x.test"),
        called("mail_of", {"user_id": "u8"}, "Error: no user u8"),
        called("mail_of", {"user_id": "u9"}, "Error: no user u9"),
    ]
    plan = searched_plan(learnt([task(state, *calls)], tool("mail_of", "user_id")), "mail_of")
    reply = answer(plan, {"user_id": "u5"}, state)
    assert (reply.status, reply.response) == (200, "Error: no user u5")


def contradicting() -> LearnedPlans:
    state: Row = {"user": {"u1": {"mail": "a@x.test"}}}
    calls = [called("ping", {}, {"answer": "pong"}) for _ in range(5)] + [called("ping", {}, {"answer": "?"})]
    return learnt([task(state, *calls)], tool("ping"))


def test_contradictions_are_shown_and_the_majority_decides() -> None:
    ping = contradicting().by_tool()["ping"]
    [group] = ping.contradictions
    assert len(group) == 6
    assert answer(searched_plan(contradicting(), "ping"), {}, {}).response == {"answer": "pong"}
    assert [one.call for one in ping.unexplained] == [6]


def test_a_tool_whose_calls_contradict_each_other_can_be_refused() -> None:
    calls = [called("ping", {}, answer) for answer in (1, 2, 1)]
    options = Options(refuse_contradictions=True)
    [ping] = learnt([task({}, *calls)], tool("ping"), options=options).tools
    assert [one.origin for one in ping.candidates] == ["read"]
    assert ping.contradictions


def test_the_same_recording_gives_the_same_plans() -> None:
    tasks = [cancelled("o1", 30.0), cancelled("o2", 12.5)]
    first, second = (learnt(tasks, tool("cancel", "order_id")).as_json() for _ in range(2))
    assert first == second


def test_a_tool_that_is_not_searched_in_time_keeps_what_is_read() -> None:
    ticks = iter(range(10_000))
    told: list[tuple[int, int, str]] = []
    plans = learn(
        recorded([cancelled("o1", 30.0)]),
        tools_of(tool("cancel", "order_id"), tool("other")),
        clock=lambda: float(next(ticks)),
        options=Options(budget_s=0.5),
        progress=lambda *one: told.append(one),
    )
    [cancel] = plans.tools
    assert (cancel.kept, cancel.is_cut_short) == ("read", True)
    assert plans.without_calls == ("other",)
    assert told == [(1, 1, "cancel")]


def test_a_plan_of_a_model_is_kept_where_it_answers_more_calls() -> None:
    calls = [called("roll", {"n": n}, {"value": value}) for n, value in ((1, 7), (2, 1), (3, 4), (4, 9))]
    plan: Row = {"steps": [{"return": {"value": "[7, 1, 4, 9][args.n - 1]"}}]}
    [roll] = learnt([task({}, *calls)], tool("roll", "n"), options=Options(model_plans={"roll": plan})).tools
    assert (roll.kept, roll.plan) == ("model", plan)
    assert "the model's plan answers 4 of 4" in roll.reason


@pytest.mark.parametrize(
    ("given", "reply"),
    [("2026-03-01", "2026-03-01"), ("01.03.2026", "01.03.2026"), ("Mar 1, 2026", "Mar 1, 2026")],
)
def test_dates_of_any_format_are_copied_as_texts(given: str, reply: str) -> None:
    tasks = [
        task({}, called("plan", {"day": day}, f"Planned for {day}.")) for day in ("5/6/26", "2026-01-02")
    ]
    plan = searched_plan(learnt(tasks, tool("plan", "day")), "plan")
    assert answer(plan, {"day": given}, {}).response == f"Planned for {reply}."
