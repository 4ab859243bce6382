"""Values fit their fields: what a schema says, else the unit in the name, else what other records hold."""

import re
from datetime import datetime
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds_kit import MORE_TRADES, NOW, OTHER_TRADES, ground, tool, toolset, trade, world_of

from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.make_world import make_world
from pipelines.core.worlds.outline import FieldOutline, TypeOutline, field_from_schema
from pipelines.core.worlds.rows.calls import candidates
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.measures import measure_of, near, unit_of
from pipelines.core.worlds.values.patterns import examples_of
from pipelines.core.worlds.values.values import Place, scalar, text_kind

OWN = TypeOutline(name="thing", id_field="thing_id", fields=())
DRAW = Draw(3)


def value(name: str, schema: Any = None, of: str = "thing", number: int = 0) -> Any:
    own = TypeOutline(name=of, id_field=f"{of}_id", fields=(), is_person=of == "customer")
    return scalar(
        field_from_schema(name, schema or {"type": "string"}), Place(own, number, f"{of}/{number}"), DRAW
    )


#: A number by its name and the type that it is of, and between what it has to lie.
MAGNITUDES = {
    ("weight_kg", "load"): (400, 24_000),
    ("weight_lbs", "truck"): (800, 53_000),
    ("weight_kg", "animal"): (2, 42),
    ("shipping_weight_g", "listing"): (100, 9_000),
    ("weight_kg", "thing"): (1, 45),
    ("rate_per_km", "load"): (0.8, 2.6),
    ("hourly_rate_usd", "thing"): (12, 95),
    ("annual_fee_eur", "permit"): (30, 900),
    ("daily_rate", "machine"): (20, 240),
    ("distance_km", "load"): (5, 900),
    ("duration_min", "visit"): (5, 180),
    ("length_m", "vessel"): (2, 25),
    ("draft_m", "vessel"): (0.4, 5),
    ("margin_pct", "load"): (1, 60),
    ("price_usd", "listing"): (5, 400),
    ("rating", "carrier"): (1, 5),
    ("pallets", "load"): (0, 12),
    ("account_balance", "owner"): (20, 6000),
}


@pytest.mark.parametrize(("name", "of"), MAGNITUDES)
@pytest.mark.parametrize("kind", ["number", "integer"])
def test_a_number_is_of_the_magnitude_of_its_unit_and_of_what_it_measures(
    name: str, of: str, kind: str
) -> None:
    least, most = MAGNITUDES[name, of]
    found = [value(name, {"type": kind}, of, number) for number in range(40)]
    assert all(least - 1 <= each <= most + 1 for each in found), found
    assert len(set(found)) > 1


NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["number", "integer"])},
    optional={
        "minimum": st.integers(-50, 500),
        "maximum": st.integers(501, 90_000),
        "multipleOf": st.sampled_from([1, 2, 5]),
    },
)
TEXTS = st.one_of(
    st.fixed_dictionaries({"type": st.just("string"), "maxLength": st.integers(1, 60)}),
    st.fixed_dictionaries({"type": st.just("string"), "minLength": st.integers(1, 90)}),
    st.fixed_dictionaries(
        {"type": st.just("string"), "pattern": st.sampled_from(["^[0-9]{15}$", "^[A-Z]{2}-\\d{3}$"])}
    ),
    st.fixed_dictionaries(
        {"type": st.just("string"), "enum": st.lists(st.text(min_size=1), min_size=1, unique=True)}
    ),
)
NAMES = st.sampled_from(["weight_kg", "price_usd", "title", "notes", "reason", "score", "breed", "city", "x"])


@given(NAMES, st.one_of(NUMBERS, TEXTS), st.integers(0, 400))
@settings(max_examples=150)
def test_a_value_is_valid_for_its_schema(name: str, schema: Any, number: int) -> None:
    found = value(name, schema, number=number)
    assert jsonschema_rs.is_valid({k: v for k, v in schema.items() if k != "multipleOf"}, found), (
        schema,
        found,
    )
    if "multipleOf" in schema and not schema.get("minimum", 0) % schema["multipleOf"]:
        assert found % schema["multipleOf"] == 0 or found == schema.get("maximum"), (schema, found)


@pytest.mark.parametrize("name", [*MORE_TRADES, *OTHER_TRADES])
def test_every_call_that_is_tried_is_valid_for_the_schema_of_its_tool(name: str) -> None:
    here = ground(name)
    for one in here.toolset.tools:
        for call in candidates(here, one.name, Draw(1), NOW):
            assert jsonschema_rs.is_valid(dict(one.input_schema), call.arguments), call


@pytest.mark.parametrize("name", [*MORE_TRADES, *OTHER_TRADES])
def test_numbers_and_moments_of_a_world_fit_their_fields(name: str) -> None:
    here, checked = ground(name), 0
    for kind, records in types_in(world_of(name)).items():
        own = here.outline.types[kind]
        for one in own.fields:
            for found in (record.get(one.name) for record in records.values()):
                if one.is_moment and isinstance(found, str):
                    assert moment_of(found) is not None, (one.name, found)
                elif isinstance(found, int | float) and not isinstance(found, bool) and unit_of(one.words):
                    least, most, _ = measure_of(one, own.last)
                    assert least <= found <= most, (kind, one.name, found)
                    checked += 1
    assert checked or name in ("veterinary", "child_care")


#: A text by its name or its description, and what its values are like.
LIKE = {
    "license_plate": r"[A-Z]{2}-\d{4}",
    "iban": r"DE\d{20}",
    "phone": r"\+1-\d{3}-555-\d{4}",
    "contact_email": r".+@example\.com",
    "breed": r"BRE-\d{3}",
    "pontoon_code": r"PON-\d{3}",
}


@pytest.mark.parametrize("name", LIKE)
def test_a_text_is_of_the_kind_that_its_name_says_and_else_openly_a_code(name: str) -> None:
    assert re.fullmatch(LIKE[name], value(name)), value(name)


DESCRIBED = {
    "Name of the vet": ("vet", "person"),
    "Company that ships the goods": ("shipped_by", "company"),
    "Why the resident thinks the fine is wrong": ("protest", "reason"),
    "City where the tour begins": ("begins_in", "city"),
    "The agreed colour scheme": ("scheme", ""),
}


@pytest.mark.parametrize("says", DESCRIBED)
def test_where_a_name_says_nothing_the_description_does(says: str) -> None:
    name, kind = DESCRIBED[says]
    assert text_kind(FieldOutline(name=name, kind="text", description=says)) == kind


EXAMPLES = {
    "Permit number, e.g. PP-40217": ("PP-40217",),
    "what the car did, e.g. parked on a cycle lane": ("parked on a cycle lane",),
    "such as dog, cat or rabbit": ("dog", "cat", "rabbit"),
    "either kind, for example 'full board' or 'half board'": ("full board", "half board"),
    "Company that ships the goods": (),
}


@pytest.mark.parametrize("says", EXAMPLES)
def test_examples_are_taken_whole_and_each(says: str) -> None:
    assert examples_of(FieldOutline(name="x", kind="text", description=says)) == EXAMPLES[says]


@given(st.floats(0.5, 50_000), st.sampled_from([0.8, 0.9, 1.1, 1.25]))
def test_another_value_is_near_the_one_that_stands_there(current: float, share: float) -> None:
    field = FieldOutline(name="weight_kg", kind="number", schema={"minimum": 0.1})
    found = near(field, current, share)
    assert found != current
    assert current / 2 - 0.2 <= found <= current * 2 + 0.2


def test_a_change_of_a_number_stays_near_what_the_record_holds() -> None:
    here = ground("veterinary")
    animals = types_in(world_of("veterinary"))["animal"]
    plain = [one for one in candidates(here, "record_weight", Draw(1), NOW) if one.variant == "plain"]
    for one in plain:
        held: Any = animals[str(one.arguments["animal_id"])]["weight_kg"]
        assert held / 2 <= one.arguments["weight_kg"] <= held * 2  # type: ignore[operator]


def test_who_is_named_by_a_role_has_that_role_and_nobody_buys_from_themselves() -> None:
    state: Any = world_of("marketplace")
    roles = {id: user["role"] for id, user in state["user"].items()}
    assert {roles[one["seller_id"]] for one in state["listing"].values()} == {"seller"}
    for order in state["order"].values():
        assert (roles[order["buyer_id"]], roles[order["seller_id"]]) == ("buyer", "seller")
        assert order["seller_id"] == state["listing"][order["listing_id"]]["seller_id"]


def test_two_of_one_type_that_a_record_names_are_two() -> None:
    fields = [{"name": name, "type": "string"} for name in ("trip_id", "first_driver_id", "second_driver_id")]
    schema = {
        "entities": [
            {"type": "trip", "id_field": "trip_id", "fields": fields},
            {"type": "driver", "id_field": "driver_id", "fields": [{"name": "name", "type": "string"}]},
        ]
    }
    of = toolset([tool("get_trip", "Get a trip.", trip_id="string")], schema)
    trips: Any = make_world(of, size="standard", rng_seed=4, now=NOW).state["trip"]
    assert all(one["first_driver_id"] != one["second_driver_id"] for one in trips.values())


def test_what_has_not_begun_lies_ahead_and_ends_soon_after_it_begins() -> None:
    loads: Any = world_of("road_freight")["load"]
    for one in loads.values():
        pickup, eta = (datetime.fromisoformat(one[name]) for name in ("pickup_at", "eta"))
        assert 0 < (eta - pickup).days + 1 <= 4
        if one["status"] in ("planned", "tendered"):
            assert one["pickup_at"] > NOW
        if one["status"] in ("in_transit", "delivered"):
            assert one["pickup_at"] < NOW


def test_states_are_those_that_plans_set_and_sentences_speak_of() -> None:
    tools = [
        tool("get_berth", "Get a berth.", berth_id="string"),
        tool("close_berth", "Close a berth.", berth_id="string"),
    ]
    of = toolset(tools, None, "close_berth only succeeds when the berth's status is occupied or reserved.")
    state: Any = make_world(of, size="standard", rng_seed=1, now=NOW).state
    assert {one["status"] for one in state["berth"].values()} >= {"occupied", "reserved", "closed"}
    assert ground_of(of, state).rules
    assert trade("veterinary").ledger_schema is None
