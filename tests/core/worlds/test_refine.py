"""Sentences that change a world: what they do, what they leave alone, and what they cannot."""

from collections.abc import Callable
from typing import Any

import pytest
from worlds_kit import NOW, order, shop, shop_state, tool, toolset, trade, world_of

from pipelines.core.ledger.ledger import differences
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.worlds.changes.refine import MOST_SENTENCES, refine
from pipelines.core.worlds.changes.sentences import CHANGES
from pipelines.core.worlds.review.advisories import advisories
from pipelines.core.worlds.shapes import NotUnderstood, Refined


def refined(prompt: str, state: JsonObject | None = None) -> Refined:
    return refine(shop(), state or shop_state(), prompt, rng_seed=1, now=NOW, size="compact")


def added(prompt: str) -> list[Any]:
    before = shop_state()
    after: Any = refined(prompt).state
    return [record for id, record in after["order"].items() if id not in before["order"]]  # type: ignore[operator]


ADDED: dict[str, Callable[[Any], bool]] = {
    "add 3 cancelled orders": lambda one: one["status"] == "cancelled",
    "Add three cancelled orders.": lambda one: one["status"] == "cancelled",
    "add 3 cancelled orders owned by a non-buyer": lambda one: one["customer_id"] == "C-2",
    "add 3 orders owned by customer C-3": lambda one: one["customer_id"] == "C-3",
    "add 3 orders of a seller customer": lambda one: one["customer_id"] == "C-2",
    "add 3 orders with total over 500": lambda one: one["total"] > 500,
    "add 3 orders with total at most 10 and status pending": lambda one: one["total"] <= 10,
    "add 3 orders whose total is 99.99": lambda one: one["total"] == 99.99,
    "add 3 orders that are shipped": lambda one: one["status"] == "shipped" and one["shipped_at"],
    "add 3 orders that are not pending": lambda one: one["status"] != "pending",
    "add 3 orders created more than 200 days ago": lambda one: one["created_at"] < "2025-10-13",
    "add 3 orders older than a year": lambda one: one["created_at"] < "2025-05-01",
    "add 3 orders without note": lambda one: not one["note"],
    "add 3 cancelled orders whose total is between 50 and 60": lambda one: 50 <= one["total"] <= 60,
    "add 3 orders whose customer's role is seller": lambda one: one["customer_id"] == "C-2",
    "add 3 orders where the total is over 500 or the status is cancelled": lambda one: (
        one["total"] > 500 or one["status"] == "cancelled"
    ),
    "add 3 orders shipped less than 20 days ago": lambda one: one["shipped_at"] > "2026-04-11",
    'add 3 orders with note "Call first; then ship. Please"': lambda one: (
        one["note"] == "Call first; then ship. Please"
    ),
}


@pytest.mark.parametrize("prompt", ADDED)
def test_what_is_added_is_as_asked_and_whole(prompt: str) -> None:
    new = added(prompt)
    assert len(new) == 3
    assert all(map(ADDED[prompt], new))
    for one in new:
        assert one["total"] == pytest.approx(
            sum(line["quantity"] * line["unit_price"] for line in one["lines"])
        )
        assert one["created_at"] <= NOW
    named = {"dangling_reference", "total_mismatch", "state_contradicts_times", "doubled_key"}
    assert not named & {each.name for each in advisories(shop(), refined(prompt).state, now=NOW)}


def changed(prompt: str) -> dict[str, Any]:
    """New attributes by id; None where one was removed."""
    found: dict[str, Any] = {}
    for update in differences(shop_state(), refined(prompt).state):
        body: Any = update.as_json()
        found[body["id"]] = body.get("set") if body["op"] == "update" else None
    return found


PETS: dict[str, tuple[int, Callable[[Any], bool]]] = {
    "add 2 dog pets": (2, lambda one: one["species"] == "dog"),
    "add 2 vaccinated pets whose species is dog": (
        2,
        lambda one: one["species"] == "dog" and one["vaccinated"],
    ),
    "add a cat or rabbit pet that is not vaccinated": (
        1,
        lambda one: one["species"] in ("cat", "rabbit"),
    ),
    "add a pet that is not vaccinated": (1, lambda one: not one["vaccinated"]),
    "add 3 rabbit pets with weightKg under 3": (
        3,
        lambda one: one["species"] == "rabbit" and one["weightKg"] < 3,
    ),
    "add 2 dog pets owned by a charity owner": (2, lambda one: one["species"] == "dog"),
}


@pytest.mark.parametrize("prompt", PETS)
def test_a_value_says_which_ones(prompt: str) -> None:
    before: Any = world_of("clinic")
    after: Any = refine(trade("clinic"), before, prompt, rng_seed=1, now=NOW, size="compact").state
    new = [record for id, record in after["pet"].items() if id not in before["pet"]]
    count, is_so = PETS[prompt]
    assert len(new) == count
    assert all(map(is_so, new))
    if "owned" in prompt:
        assert {after["owner"][one["ownerId"]]["tier"] for one in new} == {"charity"}


#: Sentences about whose the new records are, in a market whose users buy or sell, and who that has to be.
OWNED: dict[str, tuple[str, str, str, bool]] = {
    "add 2 listings owned by a seller": ("listing", "seller_id", "seller", True),
    "add 2 listings owned by a non-seller": ("listing", "seller_id", "seller", False),
    "add 2 listings belonging to a moderator": ("listing", "seller_id", "moderator", True),
    "add 2 listings of a suspended user": ("listing", "seller_id", "suspended", True),
    "add 2 orders owned by a buyer": ("order", "buyer_id", "buyer", True),
    "add 2 orders owned by a non-buyer": ("order", "buyer_id", "buyer", False),
    "add 2 orders owned by a seller": ("order", "seller_id", "seller", True),
    "make 3 listings owned by a non-seller": ("listing", "seller_id", "seller", False),
}


@pytest.mark.parametrize("prompt", OWNED)
def test_whose_they_are_is_said_by_the_role_of_the_owner(prompt: str) -> None:
    kind, link, role, is_so = OWNED[prompt]
    before: Any = world_of("marketplace")
    after: Any = refine(trade("marketplace"), before, prompt, rng_seed=1, now=NOW, size="compact").state
    new = [one for id, one in after[kind].items() if one != before[kind].get(id)]
    assert len(new) == int(prompt.split()[1])
    owners = [after["user"][one[link]] for one in new]
    assert all((role in (one["role"], one["status"])) is is_so for one in owners)


def test_a_named_owner_in_a_role_goes_into_the_field_of_that_role() -> None:
    before: Any = world_of("marketplace")
    user = next(id for id, one in before["user"].items() if one["role"] == "buyer")
    prompt = f"add 2 orders of buyer {user}"
    after: Any = refine(trade("marketplace"), before, prompt, rng_seed=1, now=NOW, size="compact").state
    new = [one for id, one in after["order"].items() if id not in before["order"]]
    assert [one["buyer_id"] for one in new] == [user, user]


def test_of_several_links_to_one_type_the_field_has_to_be_named() -> None:
    prompt = "add 2 orders owned by a moderator"
    with pytest.raises(NotUnderstood) as why:
        refine(trade("marketplace"), world_of("marketplace"), prompt, rng_seed=1, now=NOW, size="compact")
    assert "say which user (buyer_id, seller_id): name the field" in why.value.problems[0].message


def test_a_role_without_a_field_that_says_it_is_whoever_is_named_there() -> None:
    entities = [
        {"type": "trip", "id_field": "trip_id", "fields": [{"name": "driver_id", "type": "string"}]},
        {"type": "person", "id_field": "person_id", "fields": [{"name": "name", "type": "string"}]},
    ]
    of = toolset([tool("get_trip", "Get a trip.", trip_id="string")], {"entities": entities})
    trips = {"T-1": {"trip_id": "T-1", "driver_id": "P-1"}, "T-2": {"trip_id": "T-2", "driver_id": None}}
    state: Any = {"trip": trips, "person": {"P-1": {"person_id": "P-1", "name": "Ada"}}}
    after: Any = refine(of, state, "remove all trips of a driver", rng_seed=1, now=NOW, size="compact").state
    assert list(after["trip"]) == ["T-2"]


def test_a_value_picks_those_alone() -> None:
    before: Any = world_of("clinic")
    after: Any = refine(
        trade("clinic"), before, "make all dog pets vaccinated", rng_seed=1, now=NOW, size="compact"
    ).state
    dogs = [id for id, one in before["pet"].items() if one["species"] == "dog"]
    assert dogs
    assert all(after["pet"][id]["vaccinated"] for id in dogs)
    others = [id for id in before["pet"] if id not in dogs]
    assert all(after["pet"][id] == before["pet"][id] for id in others)


def test_a_value_without_its_type_is_asked_back() -> None:
    with pytest.raises(NotUnderstood) as why:
        refine(trade("clinic"), world_of("clinic"), "add 2 dogs", rng_seed=1, now=NOW, size="compact")
    (problem,) = why.value.problems
    assert "missing behind “dogs”" in problem.message
    assert "a type (owner, pet" in problem.message
    assert "add 3 cancelled orders" in str(problem.hint)


def test_values_are_set_on_what_is_named_and_nothing_else() -> None:
    assert changed("set status of order O-1 to cancelled") == {"O-1": {"status": "cancelled"}}
    assert changed("set the role of all customers to seller") == {
        "C-1": {"role": "seller"},
        "C-3": {"role": "seller"},
    }
    assert changed("set note of orders that are pending to nothing").keys() == {"O-1", "O-4"}
    assert changed("clear note of order O-2") == {"O-2": {"note": None}}
    assert changed("set customer_id of order O-1 to C-3") == {"O-1": {"customer_id": "C-3"}}


def test_what_follows_from_a_value_follows() -> None:
    (shipped,) = changed("set status of order O-1 to shipped").values()
    assert shipped.keys() == {"status", "shipped_at"}
    (back,) = changed("set status of order O-2 to pending").values()
    assert back == {"status": "pending", "shipped_at": None}
    (total,) = changed("set total of order O-1 to 55.5").values()
    assert sum(line["quantity"] * line["unit_price"] for line in total["lines"]) == total["total"] == 55.5


def test_shares_count_those_that_are_so_already() -> None:
    assert len(changed("make half of the orders cancelled")) == 1
    assert len(changed("make all orders cancelled")) == 3
    assert len(changed("make 75% of the orders have total over 100")) == 1
    assert changed("make 1 order cancelled") == {}
    assert "already" in refined("make 1 order cancelled").changes_text


def test_orders_are_spread_over_owners_values_and_time() -> None:
    def orders(prompt: str) -> list[Any]:
        after: Any = refined(prompt).state
        return list(after["order"].values())

    assert {one["customer_id"] for one in orders("spread the orders over all customers")} == {
        "C-1",
        "C-2",
        "C-3",
    }
    states = [one["status"] for one in orders("spread status of the orders over all values")]
    assert sorted(set(states)) == ["cancelled", "pending", "shipped"]
    days = sorted(
        one["created_at"] for one in orders("spread created_at of the orders over the last 12 months")
    )
    assert days[0] < "2025-06-01"
    assert days[-1] > "2026-04-01"


def test_removing_takes_what_nothing_refers_to_first_and_never_leaves_a_reference_to_nothing() -> None:
    assert changed("remove 1 customer") == {"C-3": None}
    assert changed("remove customers without orders") == {"C-3": None}
    assert changed("remove order O-2 and O-3") == {"O-2": None, "O-3": None}
    assert changed("remove orders older than 100 days") == {"O-3": None}
    whole = changed("remove customer C-2 and everything that refers to them")
    assert whole == {"C-2": None, "O-2": None}


def test_sentences_follow_each_other() -> None:
    text = "add 1 cancelled order; remove order O-1. Then set status of order O-4 to shipped"
    assert refined(text).changes_text.count(".") == 3
    assert changed(text).keys() >= {"O-1", "O-4"}


def test_the_same_prompt_gives_the_same_world() -> None:
    prompt = "add 5 orders"
    assert dumps(refined(prompt).state) == dumps(refined(prompt).state)


def test_lists_of_who_refers_to_whom_follow() -> None:
    state: Any = shop_state()
    for id, customer in state["customer"].items():
        customer["orders"] = [at for at, one in state["order"].items() if one["customer_id"] == id]
    after: Any = refined("add 1 order owned by customer C-2", state).state
    assert after["customer"]["C-2"]["orders"] == ["O-2", "O-5"]
    gone: Any = refined("remove order O-2", state).state
    assert gone["customer"]["C-2"]["orders"] == []
    moved: Any = refined("set customer_id of order O-2 to C-3", state).state
    assert (moved["customer"]["C-2"]["orders"], moved["customer"]["C-3"]["orders"]) == ([], ["O-2"])


REFUSED = {
    "add 3 cancelled pending orders": "reading stopped at “pending”",
    "add 3 cancelled orders whose status is pending": "no value of status was found",
    "add 3 orders with status pending and status shipped": "cannot be both",
    "add 3 orders with status lost": "cannot be “lost”",
    "add 3 purple orders": "reading stopped at “purple”",
    "add 3 dragons": "reading stopped at “dragons”; possible here: a type (customer, order)",
    "add 99999 orders": "how many",
    "add 3 orders with order_id O-9": "ids are given by the world",
    "add 3 orders with total over many": "reading stopped at “many”; possible here: a type",
    "add 3 orders with flavour mint": "reading stopped at “flavour”; possible here: a field",
    "add 3 orders with email late": "no order has a field `email`",
    "add 3 orders owned by customer C-9": "there is no customer C-9",
    "add 3 customers older than a year": "no customer has a date of creation",
    "set status of order O-9 to shipped": "there is no order O-9",
    "set order_id of order O-1 to O-7": "is the id of an order",
    "set total of order O-1 to plenty": "must be of type number",
    "set created_at of order O-1 to whenever": "no day or time",
    "set customer_id of order O-1 to C-9": "there is no customer C-9",
    "set note of order O-1 to call the customer": "reading stopped at “the”",
    "remove 50 orders": "there are only 4",
    "remove all customers": "refer to them",
    "make half of the orders": "something is missing behind “orders”",
    "spread the orders over the moon": "reading stopped at “moon”; possible here: a type",
    "please be nice": "reading stopped at “be”",
    "": "empty",
    "add" + " " * 3_900 + "x": "reading stopped at “x”",
    "and " * 900: "at most 120 words",
    "x" * 5_000: "characters",
}


@pytest.mark.parametrize("prompt", REFUSED, ids=lambda prompt: prompt[:40])
def test_what_cannot_be_followed_says_why(prompt: str) -> None:
    with pytest.raises(NotUnderstood) as refused:
        refined(prompt)
    assert REFUSED[prompt] in refused.value.problems[0].message


def test_all_that_is_wrong_is_told_at_once_and_nothing_is_done() -> None:
    with pytest.raises(NotUnderstood) as refused:
        refined("add 3 dragons; add 1 order; dance")
    assert len(refused.value.problems) == 2


def test_a_made_world_can_be_refined_and_still_has_nothing_the_matter() -> None:
    of, state = trade("clinic"), world_of("clinic")
    for prompt in (
        "add 3 cancelled visits",
        "add 2 pets owned by a charity owner",
        "make half of the visits booked",
    ):
        after = refine(of, state, prompt, rng_seed=4, now=NOW, size="standard").state
        assert advisories(of, after, now=NOW) == []


def test_order_helper_is_whole() -> None:
    assert order("C-1", "pending", 10.0, "2026-01-01")["total"] == 10.0


def test_more_sentences_than_anybody_writes_are_refused_before_any_is_followed() -> None:
    enough = "add 1 order. " * MOST_SENTENCES
    assert len(refined(enough).state["order"]) == len(shop_state()["order"]) + MOST_SENTENCES  # type: ignore[arg-type]
    with pytest.raises(NotUnderstood) as why:
        refined(enough + "add 1 order.")
    assert "at most 20 are followed" in why.value.problems[0].message


def test_the_lines_of_changes_hide_none_of_the_published_language() -> None:
    assert not CHANGES.lines.keys() & GRAMMAR.lines.keys()


def test_what_can_be_meant_in_two_ways_is_not_guessed() -> None:
    schema: Any = {"type": "parcel", "id_field": "id", "fields": []}
    schema["fields"] = [
        {"name": name, "type": "string", "enum": ["open", "shut"]} for name in ("lid", "status")
    ]
    of = toolset([tool("get_parcel", "Get a parcel.", parcel_id="string")], {"entities": [schema]})
    state: JsonObject = {"parcel": {"P-1": {"id": "P-1", "lid": "open", "status": "shut"}}}
    with pytest.raises(NotUnderstood) as why:
        refine(of, state, "add 1 open parcel", rng_seed=1, now=NOW, size="compact")
    assert "two ways" in why.value.problems[0].message
    after: Any = refine(
        of, state, "add 1 parcel whose lid is open", rng_seed=1, now=NOW, size="compact"
    ).state
    assert [one["lid"] for one in after["parcel"].values()] == ["open", "open"]


@pytest.mark.parametrize("values", [["none", "some"], ["no-show", "come"], [1, 2], ["v1.2", "v12"]])
def test_a_value_that_nobody_has_is_added_by_the_sentence_of_its_advisory(values: list[Any]) -> None:
    kind = "integer" if values[0] == 1 else "string"
    fields = [{"name": "grade", "type": kind, "enum": values}]
    schema = {"entities": [{"type": "parcel", "id_field": "id", "fields": fields}]}
    of = toolset([tool("get_parcel", "Get a parcel.", parcel_id="string")], schema)
    state: JsonObject = {"parcel": {id: {"id": id, "grade": values[1]} for id in ("P-1", "P-2", "P-3")}}
    (advisory,) = [one for one in advisories(of, state, now=NOW) if one.name == "unused_enum_value"]
    after: Any = refine(of, state, str(advisory.fix), rng_seed=1, now=NOW, size="compact").state
    assert [one["grade"] for one in after["parcel"].values()][3:] == [values[0]]
