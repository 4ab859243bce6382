"""Guards applied into plans: where they stand, what they refuse and with what, and what finds no place."""

import json

import pytest
from tests.core.simulation.rules.shop import (
    FIND,
    PENDING,
    PLANS,
    STATE,
    SUM,
    TOOLS,
    Shop,
    applied,
    error,
    require,
    typed,
    verbs,
)

from pipelines.core.simulation.rules.apply_rules import AppliedRules
from pipelines.core.text.json_text import Json, JsonObject

# -- conditions on records, arguments and callers -----------------------------------------------------------


def test_a_call_goes_through_when_the_condition_holds_and_is_refused_when_not() -> None:
    shop = Shop(rules=[PENDING])
    assert error(shop, "cancel_order", order_id="o-2") == (409, "conflict")
    assert shop.record("order", "o-2")["status"] == "shipped"
    assert error(shop, "cancel_order", order_id="o-1") == (200, "")
    assert shop.record("order", "o-1")["status"] == "cancelled"


def test_a_guard_stands_after_the_finds_and_before_the_first_change() -> None:
    body: list[Json] = [FIND, {"let": {"x": 1}}, {"set": {"order.status": "'void'"}}, {"return": "order"}]
    assert verbs(applied([PENDING], body).body) == ["find", "require", "let", "set", "return"]


def test_a_guard_stands_before_a_branch_that_changes_something() -> None:
    inner: list[Json] = [{"set": {"order.status": "'void'"}}]
    body: list[Json] = [FIND, {"if": "order.total > 5", "then": inner}, {"return": "order"}]
    assert verbs(applied([PENDING], body).body) == ["find", "require", "if", "return"]


def test_rules_about_arguments_come_before_anything_is_looked_up() -> None:
    body = applied([require("args.reason != null")], PLANS["cancel_order"]).body
    assert verbs(body) == ["require", "find", "set", "return"]


def test_at_one_place_arguments_are_looked_at_first_then_who_calls_then_states() -> None:
    rules = [
        require("order.status == 'pending'", sentence="state"),
        require("same_id(args.user_id, order.user_id)", sentence="caller"),
        require("order.total < 1", sentence="by status", status=403),
        require("args.reason != null", sentence="argument"),
    ]
    body = applied(rules, PLANS["cancel_order"]).body
    notes = [step.get("note") for step in body if isinstance(step, dict) and "require" in step]
    assert notes == ["argument", "caller", "by status", "state"]


def test_guards_of_one_kind_keep_the_order_of_their_author() -> None:
    rules = [
        require("order.status != 'cancelled'", unchanged=True, sentence="first"),
        require("order.status == 'pending'", sentence="second"),
    ]
    shop = Shop(rules=rules)
    assert shop.call("cancel_order", order_id="o-4").status == 200
    assert error(shop, "cancel_order", order_id="o-2") == (409, "conflict")
    assert error(Shop(rules=rules[::-1]), "cancel_order", order_id="o-4") == (409, "conflict")


@pytest.mark.parametrize(
    ("rule", "call", "expected"),
    [
        (require("args.reason != null"), {"order_id": "o-1"}, (422, "reason_required")),
        (require("args.reason in ['a', 'b']"), {"order_id": "o-1", "reason": "c"}, (422, "invalid_reason")),
        (
            require("args.reason in ['a']", status=400),
            {"order_id": "o-1", "reason": "c"},
            (400, "invalid_reason"),
        ),
        (require("order.user_id == args.user_id"), {"order_id": "o-1", "user_id": "u-2"}, (403, "forbidden")),
        (require("order.total > 500"), {"order_id": "o-1"}, (409, "conflict")),
        (require("order.total > 500", status=429), {"order_id": "o-1"}, (429, "too_many_requests")),
        (require("order.total > 500", status=499), {"order_id": "o-1"}, (499, "refused")),
        (require("order.total > 500", error="too_small"), {"order_id": "o-1"}, (409, "too_small")),
        (require("order.total > 500", error="TOO_SMALL"), {"order_id": "o-1"}, (409, "TOO_SMALL")),
        (require("order.total > 500", error="e.1-x"), {"order_id": "o-1"}, (409, "e.1-x")),
        (require("false"), {"order_id": "o-1"}, (409, "conflict")),
    ],
)
def test_status_and_error_of_a_refusal(rule: JsonObject, call: JsonObject, expected: tuple[int, str]) -> None:
    assert error(Shop(rules=[rule]), "cancel_order", **call) == expected


def test_a_message_of_the_author_is_answered_as_written() -> None:
    for code in ("no", "NO"):
        shop = Shop(rules=[require("false", error=code, message='Sorry {name}, it\'s "off" {{x}}')])
        told: Json = {"code": code, "message": 'Sorry {name}, it\'s "off" {{x}}'}
        assert shop.call("cancel_order", order_id="o-1").response == {"error": told}


def test_an_error_in_another_spelling_still_says_what_stands_in_the_way() -> None:
    shop = Shop(rules=[require("order.status == 'pending'", error="ORDER_SHIPPED")])
    told: Json = {"code": "ORDER_SHIPPED", "message": "order o-2 is shipped"}
    assert shop.call("cancel_order", order_id="o-2").response == {"error": told}


# -- optional arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("need", "written"),
    [
        ("args.amount > 0", "args.amount == null or args.amount > 0"),
        ("args.amount <= order.total", "args.amount == null or args.amount <= order.total"),
        ("order.total >= args.amount", "args.amount == null or order.total >= args.amount"),
        (
            "order.total > 5 and args.amount > 0",
            "order.total > 5 and (args.amount == null or args.amount > 0)",
        ),
        ("args.order_id != 'o-1'", "args.order_id != 'o-1'"),
        ("args.amount != null and args.amount > 0", "args.amount != null and args.amount > 0"),
        ("args.reason not in [null, '']", "args.reason not in [null, '']"),
        ("order.total > 5 or args.reason == 'force'", "order.total > 5 or args.reason == 'force'"),
        (
            "args.reason == 'a' or args.reason == 'b'",
            "args.reason == null or args.reason == 'a' or args.reason == 'b'",
        ),
        ("not (order.refunded and args.reason != 'x')", "not (order.refunded and args.reason != 'x')"),
        ("default(args.amount, 5) > 3", "default(args.amount, 5) > 3"),
        ("args.reason == true", "args.reason == true"),
        ("args.reason", "args.reason"),
        ("args.reason == null or args.reason == 'x'", "args.reason == null or args.reason == 'x'"),
    ],
)
def test_an_optional_argument_that_is_not_given_breaks_no_rule(need: str, written: str) -> None:
    body = applied([require(need, "refund_order")], PLANS["refund_order"], "refund_order").body
    assert [step["require"] for step in body if isinstance(step, dict) and "require" in step] == [written]


def test_who_calls_must_be_said_even_by_an_optional_argument() -> None:
    shop = Shop(rules=[require("same_id(args.user_id, order.user_id)")])
    assert error(shop, "cancel_order", order_id="o-1") == (403, "forbidden")
    assert error(shop, "cancel_order", order_id="o-1", user_id="u-1") == (200, "")


# -- linked records -----------------------------------------------------------------------------------------


def test_a_linked_record_is_found_by_the_id_in_a_bound_record() -> None:
    shop = Shop(rules=[require("user.tier == 'gold'", "refund_order")])
    assert error(shop, "refund_order", order_id="o-2") == (409, "conflict")
    assert error(shop, "refund_order", order_id="o-1") == (200, "")


def test_an_argument_says_which_record_is_meant_before_a_link_does() -> None:
    shop = Shop(rules=[require("user.tier == 'gold'")])  # of cancel_order, which takes a user_id
    assert error(shop, "cancel_order", order_id="o-2", user_id="u-1") == (200, "")
    assert error(shop, "cancel_order", order_id="o-1", user_id="u-2") == (409, "conflict")
    assert error(shop, "cancel_order", order_id="o-1") == (200, "")  # and without it the link


def test_a_record_that_the_plan_does_not_find_is_looked_up_by_the_argument() -> None:
    [guard, _] = applied([PENDING], [{"return": "'done'"}]).body
    assert isinstance(guard, dict)
    assert guard["require"] == "entity('order', args.order_id).status == 'pending'"


def test_a_record_named_by_an_optional_argument_alone_binds_calls_that_give_it() -> None:
    shop = Shop(rules=[require("user.tier == 'gold'", "list_orders")])
    assert shop.call("list_orders").status == 200
    assert shop.call("list_orders", user_id="u-2").status == 409
    assert shop.call("list_orders", user_id="u-1").status == 200


def test_the_session_says_who_calls() -> None:
    state: JsonObject = {**STATE, "session": {"s": {"user_id": "u-1"}}}
    shop = Shop(rules=[require("same_id(session.user_id, order.user_id)", "get_order")], state=state)
    assert error(shop, "get_order", order_id="o-2") == (403, "forbidden")
    assert error(shop, "get_order", order_id="o-1")[0] == 200


def test_a_record_beside_the_one_that_the_call_is_about_is_who_calls() -> None:
    rule = require("entity('user', args.requester_id).role == 'admin'", "delete_user")
    shop = Shop(rules=[rule])
    assert error(shop, "delete_user", user_id="u-1", requester_id="u-2") == (403, "forbidden")
    assert error(shop, "delete_user", user_id="u-1") == (403, "forbidden")
    assert error(shop, "delete_user", user_id="u-1", requester_id="u-9") == (200, "")


def test_of_two_records_of_a_type_the_one_called_like_it_is_meant() -> None:
    body: list[Json] = [
        {"find": {"as": "user", "in": "user", "id": "args.user_id"}},
        {"find": {"as": "friend", "in": "user", "where": "friend.email == args.order_id"}},
        {"return": "user"},
    ]
    body = applied([require("user.verified")], body).body
    assert [step["require"] for step in body if isinstance(step, dict) and "require" in step] == [
        "user.verified"
    ]


# -- answers that are no errors -----------------------------------------------------------------------------


def test_a_refused_call_may_be_answered_with_the_record_as_it_is() -> None:
    shop = Shop(rules=[require("order.status == 'pending'", unchanged=True)])
    reply = shop.call("cancel_order", order_id="o-2")
    assert (reply.status, reply.updates) == (200, ())
    assert reply.response == {"id": "o-2", **shop.record("order", "o-2")}


def test_what_is_answered_unchanged_is_no_text_that_tells_of_a_change() -> None:
    body: list[Json] = [FIND, {"set": {"order.status": "'x'"}}, {"return": {"message": "'cancelled'"}}]
    found = applied([require("order.status == 'pending'", unchanged=True)], body).body[1]
    assert isinstance(found, dict)
    [step] = found["then"]  # type: ignore[misc, union-attr, index]
    assert step["return"] == "order"  # type: ignore[index, call-overload]


def test_what_is_answered_unchanged_shows_no_field_that_is_left_out() -> None:
    rules: list[JsonObject] = [
        require("user.verified", "get_user", unchanged=True),
        {"form": "without", "tools": ["get_user"], "names": ["ssn", "card_number"]},
    ]
    shop = Shop(rules=rules)
    for id in ("u-1", "u-2"):
        response = shop.call("get_user", user_id=id).response
        assert isinstance(response, dict)
        assert "ssn" not in response


def test_a_refused_call_may_be_answered_with_another_reply() -> None:
    odd: JsonObject = {"...": [1, {"[x]": None}], "plain": "text", "b": True}
    shop = Shop(rules=[require("args.user_id != null", "list_orders", reply=odd)])
    assert shop.call("list_orders").response == odd
    assert shop.call("list_orders", user_id="u-1").response != odd


# -- what must hold after the changes -----------------------------------------------------------------------


def spend(expression: str = "user.loyalty_points >= 0", **more: Json) -> Shop:
    body: list[Json] = [
        {"find": {"as": "user", "in": "user", "id": "args.user_id"}},
        {"set": {"user.loyalty_points": "user.loyalty_points - args.quantity"}},
        {"return": "user"},
    ]
    rule = require(expression, "place_order", after_changes=True, **more)
    return Shop(rules=[rule], plans={**PLANS, "place_order": body})


def test_what_must_hold_after_the_changes_undoes_them() -> None:
    shop = spend()
    assert error(shop, "place_order", user_id="u-1", product_id="p-1", quantity=6) == (409, "conflict")
    assert shop.record("user", "u-1")["loyalty_points"] == 5
    assert shop.call("place_order", user_id="u-1", product_id="p-1", quantity=5).status == 200


def test_a_call_that_leaves_a_value_as_it_was_is_not_refused_for_it() -> None:
    shop = spend("user.loyalty_points > 0")
    assert shop.call("place_order", user_id="u-2", product_id="p-1", quantity=0).status == 200
    assert shop.call("place_order", user_id="u-2", product_id="p-1", quantity=1).status == 409


def test_a_new_record_is_never_as_it_was() -> None:
    rule = require("order.quantity <= 5 and user.verified", "place_order", after_changes=True)
    shop = Shop(rules=[rule])
    assert shop.call("place_order", user_id="u-1", product_id="p-1", quantity=6).status == 409
    assert shop.call("place_order", user_id="u-1", product_id="p-1", quantity=5).status == 200


def test_a_tool_that_changes_nothing_has_no_place_for_what_must_hold_after_changes() -> None:
    shop = Shop(rules=[require("order.total > 0", "get_order", after_changes=True)])
    assert shop.reasons("get_order") == ["the plan of get_order changes nothing"]
    shop = spend(unchanged=True)
    assert shop.reasons("place_order") == ["a condition after the changes can only be refused with an error"]


# -- unknown ids --------------------------------------------------------------------------------------------


def unknown(tool: str, kind: str, **more: Json) -> Shop:
    return Shop(rules=[{"form": "not_found", "tools": [tool], "target": kind, **more}])


@pytest.mark.parametrize(
    ("shop", "call", "expected"),
    [
        (unknown("get_order", "order"), {"order_id": "o-9"}, (404, "order_not_found")),
        (unknown("get_order", "order", status=410), {"order_id": "o-9"}, (410, "gone")),
        (unknown("get_order", "order", error="NO_ORDER"), {"order_id": "o-9"}, (404, "NO_ORDER")),
        (unknown("get_order", "order", status=410), {"order_id": "o-1"}, (200, "")),
        # The plan does not look the user up, but the call names one.
        (unknown("list_orders", "user"), {"user_id": "u-7"}, (404, "user_not_found")),
    ],
)
def test_what_an_unknown_id_is_answered_with(shop: Shop, call: JsonObject, expected: tuple[int, str]) -> None:
    [name] = shop.typed[0].tools
    assert error(shop, name, **call) == expected


def test_an_id_that_is_not_given_is_not_unknown() -> None:
    assert unknown("list_orders", "user").call("list_orders").status == 200


def test_an_unknown_id_that_the_plan_lets_pass_is_refused_too() -> None:
    body: list[Json] = [{"find": {**FIND["find"], "optional": True}}, {"return": "order"}]  # type: ignore[dict-item]
    [found, _] = applied([{"form": "not_found", "tools": ["cancel_order"], "target": "order"}], body).body
    assert isinstance(found, dict)
    assert found["find"] == {
        **FIND["find"],  # type: ignore[dict-item]
        "else": {"status": 404, "error": "order_not_found", "message": "there is no order {args.order_id}"},
    }


# -- guards over calls --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "need", "message"),
    [
        (
            {"form": "limit_calls", "count": 1, "per": "order"},
            "len([call for call in calls('refund_order') if same_id(call.order_id, args.order_id)]) < 1",
            "refund_order was called before for order {args.order_id}",
        ),
        (
            {"form": "after", "target": "get_order"},
            "len(calls('get_order')) > 0",
            "get_order was not called before",
        ),
        (
            {"form": "running_total", "expression": "args.amount", "limit": "500"},
            f"args.amount == null or {SUM} + args.amount <= 500",
            f"the total would be {{{SUM} + args.amount}}",
        ),
    ],
)
def test_guards_over_the_calls_of_a_run(rule: JsonObject, need: str, message: str) -> None:
    shop = Shop(rules=[{**rule, "tools": ["refund_order"]}])
    guard = shop.applied("refund_order").body[0]
    assert isinstance(guard, dict)
    assert guard["require"] == need
    assert guard["else"] == {"status": 409, "error": "conflict", "message": message}


def test_a_guard_that_counts_for_each_record_needs_an_argument_that_says_which() -> None:
    rule: JsonObject = {"form": "limit_calls", "tools": ["refund_order"], "count": 1, "per": "product"}
    assert Shop(rules=[rule]).reasons("refund_order") == ["no argument of refund_order says which product"]


# -- what reading guessed -----------------------------------------------------------------------------------


def test_a_guess_about_a_field_gives_way_to_a_rule_that_lists_its_values() -> None:
    guess: JsonObject = {"require": "order.status not in ['shipped']", "else": {"error": "cannot_cancel"}}
    other: JsonObject = {"require": "order.total > 0", "else": {"error": "cannot_cancel"}}
    body: list[Json] = [FIND, guess, other, {"return": "order"}]
    rules = [require("order.status in ['pending', 'shipped']")]
    inferred = applied(rules, body, is_inferred=True).body
    assert guess not in inferred
    assert other in inferred
    assert guess in applied(rules, body).body
    assert guess in applied([require("order.status != 'x'")], body, is_inferred=True).body


def test_a_guess_stays_where_the_rule_finds_no_place() -> None:
    guess: JsonObject = {"require": "product.active", "else": {"error": "no"}}
    body: list[Json] = [{"let": {"product": 1}}, guess, {"return": "product"}]
    result = applied([require("product.active == true")], body, is_inferred=True)
    assert guess in result.body
    assert len(result.unapplied) == 1


# -- notes --------------------------------------------------------------------------------------------------


def test_a_step_that_refuses_names_its_rule() -> None:
    rules = [PENDING, require("order.total > 1", unchanged=True, sentence="no-op")]
    body = applied(
        [*rules, {"form": "not_found", "tools": ["cancel_order"], "target": "order"}], PLANS["cancel_order"]
    ).body
    find, guard, nothing, *_ = body
    assert isinstance(find, dict)
    assert isinstance(guard, dict)
    assert isinstance(nothing, dict)
    assert (find["note"], find["rule"]) == ("rule not_found", "rule not_found")
    assert (guard["note"], guard["rule"]) == (PENDING["sentence"], PENDING["sentence"])
    assert nothing["note"] == "no-op"
    assert "rule" not in nothing
    assert [(one["note"], one["rule"]) for one in nothing["then"]] == [("no-op", "no-op")]  # type: ignore[union-attr, index, call-overload]


def test_other_woven_steps_carry_a_note_and_no_rule() -> None:
    rules: list[JsonObject] = [
        {
            "form": "set",
            "tools": ["cancel_order"],
            "target": "order.note",
            "expression": "'x'",
            "sentence": "A.",
        },
        {"form": "put", "tools": ["cancel_order"], "target": "b", "expression": "1", "sentence": "B."},
    ]
    text = json.dumps(applied(rules, PLANS["cancel_order"]).body)
    assert '"note": "A."' in text
    assert '"note": "B."' in text
    assert '"rule"' not in text


# -- no place -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "name", "body", "reason"),
    [
        (require("product.active"), "cancel_order", None, "the plan of cancel_order looks up no product"),
        (
            require("order.total > 1", "place_order"),
            "place_order",
            None,
            "the plan of place_order looks up no order",
        ),
        (require("nonsense.x == 1"), "cancel_order", None, "the plan of cancel_order looks up no nonsense"),
        (require("args.colour == 'red'"), "cancel_order", None, "cancel_order has no argument colour"),
        (
            require("args.user_id != null", "search_products", unchanged=True),
            "search_products",
            None,
            "search_products has no argument user_id",
        ),
        (
            require("args.query == 'x'", "search_products", unchanged=True),
            "search_products",
            [{"return": "'sorry'"}],
            "the plan of search_products looks up no product",
        ),
        (
            {"form": "not_found", "tools": ["search_products"], "target": "order"},
            "search_products",
            None,
            "the plan of search_products looks up no order",
        ),
        (
            require("any(order.id == user.id for order in entities('order'))", "get_user"),
            "get_user",
            [{"find": {"as": "order", "in": "user", "id": "args.user_id"}}, {"return": "order"}],
            "the plan of get_user already uses the name order: use another one in the rule",
        ),
    ],
)
def test_a_rule_without_a_place_is_handed_back_with_the_reason(
    rule: JsonObject, name: str, body: list[Json] | None, reason: str
) -> None:
    shop = Shop(rules=[rule], plans=PLANS if body is None else {**PLANS, name: body})
    result = shop.applied(name)
    assert [(one.rule, one.reason) for one in result.unapplied] == [(shop.typed[0], reason)]
    assert result.body == (body or PLANS[name])


def test_rules_of_other_tools_are_left_out() -> None:
    assert Shop(rules=[PENDING]).applied("get_order") == AppliedRules(PLANS["get_order"])


def test_weaving_leaves_the_plan_it_was_given_alone() -> None:
    before = json.dumps(PLANS)
    for rule in (PENDING, {**PENDING, "form": "not_found", "expression": None}):
        if rule["form"] == "require":
            Shop(rules=[rule]).applied("cancel_order")
    Shop(rules=[{"form": "keep", "tools": ["list_orders"], "expression": "each.total > 1"}]).applied(
        "list_orders"
    )
    assert json.dumps(PLANS) == before


def test_a_tool_that_the_vocabulary_does_not_know_still_gets_its_rules() -> None:
    shop = Shop(rules=[require("args.x == 1", "odd")], plans={**PLANS, "odd": [{"return": "args.x"}]})
    assert verbs(shop.applied("odd").body) == ["require", "return"]


def test_typed_rules_of_these_tests_are_read_as_authors_write_them() -> None:
    assert typed(PENDING).sentence == "Only pending orders can be cancelled."
    assert {one.name for one in TOOLS} == {*PLANS}
