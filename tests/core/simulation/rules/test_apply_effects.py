"""Effects applied into plans: fields set and taken away, flags, records added and removed."""

import pytest
from tests.core.simulation.rules.shop import PLANS, STATE, Shop, tool

from pipelines.core.text.json_text import Json, JsonObject


def effect(form: str, target: str, tool: str = "cancel_order", **more: Json) -> JsonObject:
    return {"form": form, "tools": [tool], "target": target, **more}


# -- fields -------------------------------------------------------------------------------------------------


def test_a_field_of_the_record_gets_a_value() -> None:
    shop = Shop(rules=[effect("set", "order.cancelled_at", expression="today")])
    reply = shop.call("cancel_order", order_id="o-1")
    assert shop.record("order", "o-1")["cancelled_at"] == "2026-07-01"
    assert isinstance(reply.response, dict)
    assert reply.response["cancelled_at"] == "2026-07-01"


def test_a_field_is_taken_away() -> None:
    shop = Shop(rules=[effect("unset", "order.balance")])
    shop.call("cancel_order", order_id="o-1")
    assert "balance" not in shop.record("order", "o-1")


def test_an_argument_that_is_not_given_leaves_its_field_alone() -> None:
    shop = Shop(rules=[effect("set", "order.reason", expression="args.reason")])
    shop.call("cancel_order", order_id="o-1")
    shop.call("cancel_order", order_id="o-2", reason="late")
    assert "reason" not in shop.record("order", "o-1")
    assert shop.record("order", "o-2")["reason"] == "late"


def test_a_sum_with_an_argument_that_is_not_given_is_not_worked_out() -> None:
    shop = Shop(
        rules=[effect("set", "order.balance", "refund_order", expression="order.balance - args.amount")]
    )
    assert shop.call("refund_order", order_id="o-1").status == 200
    assert shop.record("order", "o-1")["balance"] == 15
    shop.call("refund_order", order_id="o-1", amount=5)
    assert shop.record("order", "o-1")["balance"] == 10


def test_a_linked_record_is_found_and_changed() -> None:
    shop = Shop(
        rules=[effect("set", "user.balance", "refund_order", expression="user.balance + order.total")]
    )
    shop.call("refund_order", order_id="o-1")
    assert shop.record("user", "u-1")["balance"] == 130


def test_where_there_is_no_linked_record_nothing_is_changed() -> None:
    state: JsonObject = {
        **STATE,
        "order": {**STATE["order"], "o-9": {"status": "pending", "user_id": None, "total": 1}},
    }  # type: ignore[dict-item]
    shop = Shop(rules=[effect("set", "user.balance", "refund_order", expression="0")], state=state)
    reply = shop.call("refund_order", order_id="o-9")
    assert reply.status == 200
    assert [update.entity_type for update in reply.updates] == ["order"]  # type: ignore[union-attr]


def test_several_rules_share_the_linked_record_that_is_found() -> None:
    rules = [effect("set", f"user.{name}", "refund_order", expression="1") for name in ("a", "b")]
    body = Shop(rules=rules).applied("refund_order").body
    assert sum("find" in step for step in body if isinstance(step, dict)) == 2
    rules.append(effect("remove", "user", "refund_order"))
    shop = Shop(rules=rules)
    shop.call("refund_order", order_id="o-1")
    assert shop.ledger.get("user", "u-1") is None


def test_a_record_that_an_argument_names_is_needed() -> None:
    rule = effect("set", "product.stock", "place_order", expression="product.stock - args.quantity")
    shop = Shop(rules=[rule])
    assert shop.call("place_order", user_id="u-1", product_id="p-9", quantity=1).status == 404
    shop.call("place_order", user_id="u-1", product_id="p-1", quantity=2)
    assert shop.record("product", "p-1")["stock"] == 1


def test_what_the_call_adds_is_changed_before_it_is_answered() -> None:
    shop = Shop(
        rules=[effect("set", "order.total", "place_order", expression="product.price * args.quantity")]
    )
    reply = shop.call("place_order", user_id="u-1", product_id="p-1", quantity=3)
    assert isinstance(reply.response, dict)
    assert reply.response["total"] == 60


def test_a_record_that_is_added_without_a_name_gets_one() -> None:
    body: list[Json] = [{"add": {"in": "user", "attrs": "args"}}, {"return": {"done": True}}]
    rule = effect("set", "user.tier", "register_user", expression="'new'")
    shop = Shop(rules=[rule], plans={**PLANS, "register_user": body})
    shop.call("register_user", email="x@example.com")
    assert shop.record("user", "u-10")["tier"] == "new"


def test_where_the_call_names_a_record_and_adds_another_the_named_one_is_meant() -> None:
    body: list[Json] = [
        {"find": {"as": "old", "in": "order", "id": "args.order_id"}},
        {"add": {"in": "order", "as": "copy", "attrs": {"total": "old.total"}}},
        {"return": "copy"},
    ]
    rules = [
        effect("set", "order.seen", "get_order", expression="true"),
        effect("put", "extra", "get_order", expression="5"),
    ]
    shop = Shop(rules=rules, plans={**PLANS, "get_order": body})
    shop.call("get_order", order_id="o-1")
    assert (shop.record("order", "o-1")["seen"], shop.record("order", "o-5").get("seen")) == (True, None)
    assert shop.record("order", "o-5")["extra"] == 5  # and of what is answered, the new one


@pytest.mark.parametrize(("id", "points"), [("o-1", 15), ("o-2", 0)])
def test_an_effect_happens_only_where_its_condition_holds(id: str, points: int) -> None:
    rule = effect(
        "set", "user.loyalty_points", expression="user.loyalty_points + 10", when="order.total > 50"
    )
    shop = Shop(rules=[rule])
    shop.call("cancel_order", order_id=id)
    assert shop.record("user", str(shop.record("order", id)["user_id"]))["loyalty_points"] == points


def test_a_condition_speaks_of_things_as_the_call_found_them() -> None:
    rule = effect("set", "order.was_pending", expression="true", when="order.status == 'pending'")
    shop = Shop(rules=[rule])
    shop.call("cancel_order", order_id="o-1")  # which sets the status
    shop.call("cancel_order", order_id="o-2")
    assert shop.record("order", "o-1")["was_pending"] is True
    assert "was_pending" not in shop.record("order", "o-2")


def test_a_condition_may_speak_of_what_the_call_adds() -> None:
    rule = effect("flag", "large", "place_order", when="order.quantity > 5")
    shop = Shop(rules=[rule])
    shop.call("place_order", user_id="u-1", product_id="p-1", quantity=1)
    assert not shop.ledger.is_flagged("large")
    shop.call("place_order", user_id="u-1", product_id="p-1", quantity=6)
    assert shop.ledger.is_flagged("large")


COUNTING: dict[str, list[Json]] = {
    **PLANS,
    "refund_order": [
        {"find": {"as": "it", "in": "order", "id": "args.order_id"}},
        {"set": {"it.balance": "it.balance - args.amount"}},
        {"return": "it"},
    ],
}


def test_what_the_plan_counts_itself_is_not_counted_twice() -> None:
    rule = effect("set", "order.balance", "refund_order", expression="order.balance - args.amount")
    shop = Shop(rules=[rule], plans=COUNTING)
    shop.call("refund_order", order_id="o-1", amount=5)
    assert shop.record("order", "o-1")["balance"] == 10


def test_a_field_that_the_plan_counts_in_another_way_is_left_to_it() -> None:
    rule = effect("set", "order.balance", "refund_order", expression="order.balance + 1")
    shop = Shop(rules=[rule], plans=COUNTING)
    assert shop.reasons("refund_order") == ["the plan of refund_order counts balance in another way"]


# -- flags, records that are added and removed --------------------------------------------------------------


def test_a_flag_is_raised_and_lowered() -> None:
    shop = Shop(rules=[effect("flag", "it's on"), effect("flag", "it's on", "get_order", on=False)])
    shop.call("cancel_order", order_id="o-1")
    assert shop.ledger.is_flagged("it's on")
    shop.call("get_order", order_id="o-1")
    assert not shop.ledger.is_flagged("it's on")


def test_a_record_is_added() -> None:
    fields: JsonObject = {"user_id": "order.user_id", "price": "order.total * 0.1", "name": "args.reason"}
    shop = Shop(rules=[effect("add", "product", fields=fields)])
    shop.call("cancel_order", order_id="o-1")
    assert shop.record("product", "p-4") == {"user_id": "u-1", "price": 10.0}


def test_a_record_is_added_only_where_the_condition_holds() -> None:
    shop = Shop(rules=[effect("add", "product", fields={"name": {"text": "fee"}}, when="order.total > 50")])
    shop.call("cancel_order", order_id="o-2")
    assert shop.ledger.count("product") == 3
    shop.call("cancel_order", order_id="o-1")
    assert shop.record("product", "p-4") == {"name": "fee"}


def test_the_record_of_the_call_is_removed_and_still_answered() -> None:
    shop = Shop(
        rules=[
            effect("remove", "order", "archive_order"),
            effect("set", "order.x", "archive_order", expression="1"),
        ]
    )
    reply = shop.call("archive_order", order_id="o-1")
    assert shop.ledger.get("order", "o-1") is None
    assert isinstance(reply.response, dict)
    assert reply.response["x"] == 1


def test_a_record_is_removed_only_where_the_condition_holds() -> None:
    shop = Shop(rules=[effect("remove", "order", when="order.status == 'pending'")])
    for id in ("o-1", "o-2"):
        shop.call("cancel_order", order_id=id)
    assert shop.ledger.get("order", "o-1") is None
    assert shop.ledger.get("order", "o-2") is not None


@pytest.mark.parametrize(
    "rules",
    [
        [effect("remove", "user", "delete_user")],
        [effect("set", "user.gone", "delete_user", expression="true")],
    ],
)
def test_what_the_plan_removes_is_neither_removed_again_nor_changed(rules: list[JsonObject]) -> None:
    assert Shop(rules=rules).reasons("delete_user") == ["the plan of delete_user removes the user already"]


def test_two_rules_do_not_remove_one_record() -> None:
    shop = Shop(rules=[effect("remove", "order"), effect("remove", "order", when="order.total > 1")])
    assert shop.reasons("cancel_order") == ["the plan of cancel_order removes the order already"]


def test_an_effect_of_which_one_value_has_no_place_leaves_nothing_behind() -> None:
    rule = effect("set", "user.balance", "refund_order", expression="product.price")
    shop = Shop(rules=[rule])
    assert shop.reasons("refund_order") == ["the plan of refund_order looks up no product"]
    assert shop.applied("refund_order").body == PLANS["refund_order"]


def test_a_record_that_the_plan_may_not_find_is_changed_only_where_it_is() -> None:
    body: list[Json] = [
        {"find": {"as": "user", "in": "user", "id": "args.user_id", "optional": True}},
        {"return": {"known": "user != null"}},
    ]
    shop = Shop(
        rules=[effect("set", "user.seen", "get_user", expression="true")], plans={**PLANS, "get_user": body}
    )
    assert shop.call("get_user", user_id="u-7").response == {"known": False}
    shop.call("get_user", user_id="u-1")
    assert shop.record("user", "u-1")["seen"] is True


def test_the_one_record_of_a_service_needs_no_id() -> None:
    state: JsonObject = {"till": {"main": {"open": True, "takings": 5}}, "order": {"o-1": {"total": 3}}}
    plans: dict[str, list[Json]] = {
        "pay_order": [{"find": {"as": "order", "in": "order", "id": "args.order_id"}}]
    }
    tools = (tool("pay_order", "order_id"),)
    rules: list[JsonObject] = [
        effect("set", "till.takings", "pay_order", expression="till.takings + order.total"),
        {"form": "require", "tools": ["pay_order"], "expression": "till.open"},
    ]
    shop = Shop(rules=rules, state=state, tools=tools, plans=plans)
    assert shop.vocabulary.kinds["till"].only_id == "main"
    shop.call("pay_order", order_id="o-1")
    assert shop.record("till", "main")["takings"] == 8
