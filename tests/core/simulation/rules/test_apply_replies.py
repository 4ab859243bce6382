"""Replies under rules: lists filtered, sorted and cut; fields computed, left out and masked."""

import pytest
from tests.core.simulation.rules.shop import PLANS, Shop

from pipelines.core.text.json_text import Json, JsonObject


def listing(form: str, tool: str = "list_orders", **more: Json) -> JsonObject:
    return {"form": form, "tools": [tool], **more}


def ids(shop: Shop, name: str = "list_orders", **arguments: Json) -> list[Json]:
    response = shop.call(name, **arguments).response
    found = response["items"] if isinstance(response, dict) else response
    assert isinstance(found, list)
    return [one["id"] for one in found if isinstance(one, dict)]


def returning(value: Json, name: str = "list_orders", *before: Json) -> dict[str, list[Json]]:
    return {**PLANS, name: [*before, {"return": value}]}


# -- lists --------------------------------------------------------------------------------------------------


def test_a_list_is_filtered_where_it_is_found() -> None:
    shop = Shop(rules=[listing("keep", expression="each.total > 30")])
    assert ids(shop) == ["o-1", "o-3", "o-4"]
    assert ids(shop, user_id="u-2") == ["o-4"]
    [find, _] = shop.applied("list_orders").body
    assert isinstance(find, dict)
    assert "orders.total > 30" in str(find["find"])


def test_a_list_of_ids_is_filtered_after_it_is_found() -> None:
    find: JsonObject = {"find": {"as": "some", "in": "order", "id": "['o-2', 'o-3']", "all": True}}
    plans = returning("[{'id': one.id} for one in some]", "list_orders", find)
    assert ids(Shop(rules=[listing("keep", expression="each.total > 30")], plans=plans)) == ["o-3"]


def test_a_list_that_is_only_computed_is_filtered_where_it_is_returned() -> None:
    value: JsonObject = {"items": "[merge(one, {'id': one.id}) for one in entities('order')]", "more": False}
    shop = Shop(
        rules=[listing("keep", expression="each.total > 30 and args.user_id == each.user_id")],
        plans=returning(value),
    )
    assert ids(shop, user_id="u-1") == ["o-1", "o-3"]


def test_a_filter_may_look_at_another_record() -> None:
    shop = Shop(rules=[listing("keep", expression="each.total > user.balance")])
    assert ids(shop, user_id="u-1") == ["o-1", "o-3"]


def test_many_filters_hold_together() -> None:
    rules = [
        listing("keep", expression=f"each.total != {number} and each.status != 'x{number}'")
        for number in range(60)
    ]
    assert ids(Shop(rules=[*rules, listing("keep", expression="each.total != 100")])) == ["o-3"]


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("total", ["o-2", "o-4", "o-1", "o-3"]),
        ("-total", ["o-3", "o-1", "o-4", "o-2"]),
        (["user_id", "-total"], ["o-3", "o-1", "o-4", "o-2"]),
        (["-user_id", "total"], ["o-2", "o-4", "o-1", "o-3"]),
    ],
)
def test_a_list_is_sorted_by_fields(by: Json, expected: list[str]) -> None:
    assert ids(Shop(rules=[listing("sort", target=by)])) == expected


def test_what_a_condition_holds_for_comes_first() -> None:
    assert ids(Shop(rules=[listing("sort", expression="each.total < 50")])) == ["o-2", "o-4", "o-1", "o-3"]


def test_a_list_is_cut_after_it_is_sorted_and_sorted_after_it_is_filtered() -> None:
    rules = [
        listing("take", count=1),
        listing("sort", target="-total"),
        listing("keep", expression="each.total < 500"),
    ]
    assert ids(Shop(rules=rules)) == ["o-1"]


@pytest.mark.parametrize(
    ("page", "expected"), [(None, ["p-1", "p-2"]), (2, ["p-3"]), (3, []), (0, ["p-1", "p-2"])]
)
def test_a_page_is_cut_by_the_argument_that_says_which(page: Json, expected: list[str]) -> None:
    shop = Shop(rules=[listing("take", "search_products", count=2, pages=True)])
    assert ids(shop, "search_products", **({} if page is None else {"page": page})) == expected


def test_pages_of_a_tool_that_takes_no_page_are_the_first_one() -> None:
    assert ids(Shop(rules=[listing("take", count=3, pages=True)])) == ["o-1", "o-2", "o-3"]


@pytest.mark.parametrize(
    "value",
    [
        "entities('order')[:9]",
        "sort(entities('order'), 'total')",
        "[*entities('order')]",
        "found + []",
        "kept if true else []",
    ],
)
def test_lists_of_every_make_are_cut(value: str) -> None:
    lets: list[Json] = [{"let": {"found": "entities('order')", "kept": "[one for one in found]"}}]
    shop = Shop(rules=[listing("take", count=1)], plans=returning(value, "list_orders", *lets))
    response = shop.call("list_orders").response
    assert isinstance(response, list)
    assert len(response) == 1


def test_the_list_that_a_record_keeps_is_cut() -> None:
    find: JsonObject = {"find": {"as": "order", "in": "order", "id": "args.order_id"}}
    plans = returning("order.items", "get_order", find)
    shop = Shop(rules=[listing("take", "get_order", count=1)], plans=plans)
    assert shop.call("get_order", order_id="o-1").response == [
        {"product_id": "p-1", "quantity": 2, "price": 20}
    ]


def test_every_return_that_holds_a_list_is_cut_and_an_empty_answer_is_left() -> None:
    branch: JsonObject = {"if": "args.user_id == 'x'", "then": [{"return": None}]}
    other: JsonObject = {"if": "args.user_id == 'y'", "then": [{"return": "[1, 2, 3]"}]}
    shop = Shop(rules=[listing("take", count=1)], plans=returning("[4, 5]", "list_orders", branch, other))
    assert [shop.call("list_orders", user_id=one).response for one in "xyz"] == [None, [1], [4]]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("'sorry'", "the plan of list_orders returns no list"),
        ("len(entities('order'))", "the plan of list_orders returns no list, or more than one"),
        (
            {"a": "entities('order')", "b": "entities('user')"},
            "the plan of list_orders returns no list, or more than one",
        ),
    ],
)
def test_a_plan_without_one_list_has_no_place_for_rules_of_lists(value: Json, reason: str) -> None:
    for rule in (listing("take", count=1), listing("sort", target="x"), listing("keep", expression="each.x")):
        shop = Shop(rules=[rule], plans=returning(value))
        assert shop.reasons("list_orders") == [reason]
        assert shop.applied("list_orders").body == [{"return": value}]


# -- fields that are computed -------------------------------------------------------------------------------


def put(name: str, expression: str, tool: str = "get_quote", **more: Json) -> JsonObject:
    return {"form": "put", "tools": [tool], "target": name, "expression": expression, **more}


def answered(shop: Shop, name: str, **arguments: Json) -> JsonObject:
    response = shop.call(name, **arguments).response
    assert isinstance(response, dict)
    return response


def test_a_field_of_the_reply_is_computed_and_the_record_left_alone() -> None:
    shop = Shop(rules=[put("total", "reply.subtotal * 1.08")])
    assert answered(shop, "get_quote", order_id="o-1")["total"] == 97.2
    assert shop.record("order", "o-1")["total"] == 100


def test_one_computed_field_may_use_another() -> None:
    shop = Shop(rules=[put("tax", "reply.subtotal * 0.1"), put("total", "reply.subtotal + reply.tax")])
    assert answered(shop, "get_quote", order_id="o-1")["total"] == 99.0


def test_a_field_is_computed_where_the_condition_holds_and_else_stays() -> None:
    shop = Shop(rules=[put("total", "0", when="order.status == 'pending'")])
    assert answered(shop, "get_quote", order_id="o-1")["total"] == 0
    assert answered(shop, "get_quote", order_id="o-2")["total"] == 20


def test_a_field_is_computed_only_where_everything_is_there_that_it_needs() -> None:
    shop = Shop(rules=[put("total", "reply.nothing * 2"), put("most", "max(reply.none, 1)")])
    reply = answered(shop, "get_quote", order_id="o-1")
    assert reply["total"] == 100
    assert "most" not in reply


def test_a_tool_that_writes_keeps_the_value_and_answers_it_once() -> None:
    shop = Shop(rules=[put("total", "reply.total * 2", "cancel_order")])
    assert answered(shop, "cancel_order", order_id="o-1")["total"] == 200
    assert shop.record("order", "o-1")["total"] == 200


def test_what_a_call_adds_keeps_the_value() -> None:
    shop = Shop(rules=[put("total", "product.price * args.quantity", "place_order")])
    assert answered(shop, "place_order", user_id="u-1", product_id="p-1", quantity=2)["total"] == 40
    assert shop.record("order", "o-5")["total"] == 40


def test_what_the_call_removes_cannot_keep_a_value_but_shows_it() -> None:
    shop = Shop(rules=[put("note", "'bye'", "delete_user")])
    assert answered(shop, "delete_user", user_id="u-1") == {"deleted": True, "note": "bye"}


def test_a_value_is_put_into_the_return_of_a_branch_too() -> None:
    branch: JsonObject = {
        "if": "args.user_id == 'u-1'",
        "then": [{"find": {"as": "one", "in": "user", "id": "args.user_id"}}, {"return": "one"}],
    }
    shop = Shop(
        rules=[put("more", "reply.name", "get_user")], plans=returning({"name": "'?'"}, "get_user", branch)
    )
    assert answered(shop, "get_user", user_id="u-1")["more"] == "Ada"
    assert answered(shop, "get_user", user_id="u-2") == {"name": "?", "more": "?"}


def test_a_reply_that_is_no_record_has_no_place_for_a_field() -> None:
    for value in ("len(entities('order'))", "entities('order')", None):
        shop = Shop(rules=[put("total", "1")], plans=returning(value, "get_quote"))
        assert shop.reasons("get_quote") == ["the plan of get_quote returns no record to put total into"]


# -- fields that are left out or masked ---------------------------------------------------------------------


def shown(*rules: JsonObject, value: Json = "user", id: str = "u-1") -> Json:
    find: JsonObject = {"find": {"as": "user", "in": "user", "id": "args.user_id"}}
    shop = Shop(
        rules=[{**rule, "tools": ["get_user"]} for rule in rules], plans=returning(value, "get_user", find)
    )
    return shop.call("get_user", user_id=id).response


NO_SSN: JsonObject = {"form": "without", "names": ["ssn", "card_number"]}
NAMES: JsonObject = {"form": "only", "names": ["name", "tier"]}
MASKED: JsonObject = {"form": "mask", "target": "card_number"}
HIDDEN = "************1111"


@pytest.mark.parametrize(
    "value",
    [
        "user",
        {"...": "user"},
        {"id": "user.id", "ssn": "user.ssn", "...": "user"},
        "merge(user, {'x': 1})",
        "{**user}",
    ],
)
def test_fields_are_left_out_of_a_record(value: Json) -> None:
    found = shown(NO_SSN, value=value)
    assert isinstance(found, dict)
    assert found["name"] == "Ada"
    assert {"ssn", "card_number"}.isdisjoint(found)


@pytest.mark.parametrize(
    "value", ["user", {"...": "user"}, {"name": "user.name", "tier": "user.tier", "x": 1}]
)
def test_only_some_fields_are_shown(value: Json) -> None:
    assert shown(NAMES, value=value) == {"name": "Ada", "tier": "gold"}


@pytest.mark.parametrize(
    "value",
    ["user", {"...": "user"}, {"card_number": "user.card_number"}, {"x": 1, "...": "user"}],
)
def test_a_field_is_masked(value: Json) -> None:
    found = shown(MASKED, value=value)
    assert isinstance(found, dict)
    assert found["card_number"] == HIDDEN


@pytest.mark.parametrize(
    ("count", "expected"), [(0, "*" * 16), (2, "*" * 14 + "11"), (99, "4111111111111111")]
)
def test_a_mask_shows_as_many_characters_as_it_says(count: int, expected: str) -> None:
    found = shown({**MASKED, "count": count})
    assert isinstance(found, dict)
    assert found["card_number"] == expected


def test_a_field_that_is_not_there_is_not_made_up_by_a_mask() -> None:
    found = shown({"form": "mask", "target": "phone"})
    assert isinstance(found, dict)
    assert "phone" not in found


@pytest.mark.parametrize("wrapped", [{"user": "user", "ok": True}, {"users": "[user]"}, {"users": ["user"]}])
def test_records_under_keys_of_their_own_are_shaped(wrapped: JsonObject) -> None:
    found = str(shown(NO_SSN, value=wrapped))
    assert "Ada" in found
    assert "123-45-6789" not in found
    assert HIDDEN in str(shown(MASKED, value=wrapped))


@pytest.mark.parametrize("value", ["entities('user')", "[one for one in entities('user')]", "[user, user]"])
def test_every_record_of_a_list_is_shaped(value: str) -> None:
    found = shown(NO_SSN, MASKED | {"target": "email"}, value=value)
    assert "ssn" not in str(found)
    assert "***********.com" in str(found)


def test_rules_of_one_reply_go_together() -> None:
    rules = [{"form": "without", "names": [f"x{number}"]} for number in range(50)]
    found = shown(
        MASKED,
        *rules,
        {"form": "put", "target": "more", "expression": "reply.balance + 1"},
        NO_SSN | {"names": ["ssn"]},
    )
    assert isinstance(found, dict)
    assert (found["card_number"], found["more"], "ssn" in found) == (HIDDEN, 31, False)


def test_many_masks_of_one_record_hold_together() -> None:
    found = shown(*({"form": "mask", "target": f"x{number}"} for number in range(12)), MASKED)
    assert isinstance(found, dict)
    assert found["card_number"] == HIDDEN


@pytest.mark.parametrize(
    ("rule", "value", "reason"),
    [
        (NO_SSN, "user.name", "what the plan of get_user returns is neither a record nor a list of records"),
        (NO_SSN, "'x'", "the plan of get_user returns no record"),
        (MASKED, {"name": "user.name"}, "the reply of get_user has no card_number"),
        ({"form": "mask", "target": "cards.number"}, "user", "the reply of get_user has no cards.number"),
    ],
)
def test_a_reply_without_records_has_no_place_for_shapes(rule: JsonObject, value: Json, reason: str) -> None:
    find: JsonObject = {"find": {"as": "user", "in": "user", "id": "args.user_id"}}
    shop = Shop(rules=[{**rule, "tools": ["get_user"]}], plans=returning(value, "get_user", find))
    assert shop.reasons("get_user") == [reason]


def test_what_is_answered_unchanged_is_masked_too() -> None:
    guard: JsonObject = {"form": "require", "expression": "user.tier == 'gold'", "unchanged": True}
    for rule in (MASKED, NO_SSN, {"form": "only", "names": ["name"]}):
        for more in ([], [{"form": "put", "target": "more", "expression": "1"}]):
            assert "4222222222222222" not in str(shown(guard, rule, *more, id="u-2"))
