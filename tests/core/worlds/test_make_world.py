"""Worlds that are made: the same for the same seed, whole in themselves, and worth asking about."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds_kit import NOW, SHOP_SCHEMA, TRADES, ground, shop, tool, toolset, trade, world_of

from pipelines.core.ledger.initial_state import parse_initial_state
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.simulation.rules.forms import from_text
from pipelines.core.simulation.rules.rule import Require, Rule
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.core.text.problems import Refused
from pipelines.core.worlds.draw import Draw
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.make_world import make_world
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.records.rule_cases import cases_of
from pipelines.core.worlds.review.advisories import advisories
from pipelines.core.worlds.rows.calls import candidates
from pipelines.core.worlds.shapes import ENTITIES, Toolset
from pipelines.core.worlds.types.toolset_outline import outline_of
from pipelines.core.worlds.types.world_outline import types_in
from pipelines.core.worlds.values.ids import ids_of
from pipelines.core.worlds.values.sums import lines_of, sums_of
from pipelines.core.worlds.values.times import rank_of


def made(of: Toolset, seed: int = 1, size: str = "standard") -> JsonObject:
    return make_world(of, size=size, rng_seed=seed, now=NOW).state  # type: ignore[arg-type]


@given(st.integers(0, 2**40), st.sampled_from(TRADES))
@settings(max_examples=5)
def test_the_same_seed_gives_the_same_bytes_and_references_and_sums_hold(seed: int, name: str) -> None:
    of = trade(name)
    state = made(of, seed, "compact")
    assert dumps(state) == dumps(made(of, seed, "compact"))
    types = outline_of(of).types
    records = types_in(state)
    for own in types.values():
        for one in own.references:
            for record in records[own.name].values():
                assert record[one.name] is None or str(record[one.name]) in records[one.refers_to or ""]
        for rule in sums_of(own, types):
            for id, record in records[own.name].items():
                assert record[rule.total] == pytest.approx(rule.of(record, lines_of(rule, id, record, state)))


def test_another_seed_gives_another_world() -> None:
    assert dumps(made(trade("clinic"), 1)) != dumps(made(trade("clinic"), 2))


def test_one_more_type_leaves_the_others_as_they_are() -> None:
    extra = {"type": "voucher", "id_field": "voucher_id", "fields": [{"name": "amount", "type": "number"}]}
    entities = SHOP_SCHEMA["entities"]
    assert isinstance(entities, list)
    tools = [tool("get_order", "", order_id="string")]
    before = made(toolset(tools, SHOP_SCHEMA))
    after = made(toolset(tools, {"entities": [extra, *entities]}))
    assert after.pop("voucher")
    assert dumps(after) == dumps(before)


@pytest.mark.parametrize("name", TRADES)
def test_a_made_world_is_one_that_an_upload_takes(name: str) -> None:
    parse_initial_state(world_of(name), ledger_schema=trade(name).ledger_schema)


@pytest.mark.parametrize("size", ENTITIES)
def test_a_size_is_so_many_entities_of_each_type(size: str) -> None:
    assert {len(of) for of in types_in(made(shop(), size=size)).values()} == {ENTITIES[size]}  # type: ignore[index]


@pytest.mark.parametrize("name", TRADES)
def test_every_enum_value_is_used_and_owners_are_spread(name: str) -> None:
    records = types_in(world_of(name))
    for own in outline_of(trade(name)).types.values():
        for one in own.fields:
            used = {repr(record[one.name]) for record in records[own.name].values()}
            if one.values:
                assert used >= set(map(repr, one.values)), (own.name, one.name)
            if one in own.references:
                assert len(used) > len(records[own.name]) / 3


@pytest.mark.parametrize("name", TRADES)
def test_times_of_a_record_are_in_causal_order(name: str) -> None:
    checked = 0
    for own in outline_of(trade(name)).types.values():
        past = sorted(
            (one for one in own.moments if rank_of(one.name)), key=lambda one: rank_of(one.name) or 0
        )
        for record in types_in(world_of(name))[own.name].values():
            moments = [at.at.replace(tzinfo=None) for one in past if (at := moment_of(record[one.name]))]
            assert moments == sorted(moments), (own.name, record)
            assert all(at.isoformat() <= NOW for at in moments)
            checked += len(moments)
    assert checked or name == "tool_hire"


@pytest.mark.parametrize("name", TRADES)
def test_every_rule_that_records_decide_has_a_case_on_each_side(name: str) -> None:
    here = ground(name)
    found = [cases_of(rule, here.vocabulary, here.world, NOW) for rule in here.rules]
    assert [cases.rule.sentence for cases in found if cases and cases.missing] == []
    assert any(cases is not None for cases in found)


def test_amounts_stand_at_the_border_of_a_rule() -> None:
    totals = {invoice["total"] for invoice in types_in(world_of("clinic"))["invoice"].values()}
    assert {200, 200.01} <= totals


def test_who_an_invoice_is_for_is_the_owner_of_the_pet() -> None:
    state = types_in(world_of("clinic"))
    for invoice in state["invoice"].values():
        visit = state["visit"][str(invoice["visitId"])]
        assert invoice["ownerId"] == state["pet"][str(visit["petId"])]["ownerId"]


def test_a_moment_is_there_exactly_when_the_state_says_that_it_happened() -> None:
    for visit in types_in(world_of("clinic"))["visit"].values():
        assert (visit["cancelledAt"] is not None) == (visit["status"] == "cancelled")


def test_ids_are_like_the_examples_and_patterns_of_the_tools() -> None:
    hire, bank = types_in(world_of("tool_hire")), types_in(world_of("credit_union"))
    assert all(id.startswith("MX-") and len(id) == 7 for id in hire["machine"])
    assert all(id.isdecimal() and hire["customer"][id]["customer_no"] == int(id) for id in hire["customer"])
    assert all(id.startswith("AC-") and len(id) == 9 for id in bank["account"])


def test_without_a_ledger_schema_the_types_are_those_that_the_tools_speak_of() -> None:
    assert list(world_of("credit_union")) == ["member", "account", "card", "loan"]
    account = next(iter(types_in(world_of("credit_union"))["account"].values()))
    assert {"account_id", "member_id", "balance", "status", "account_type"} <= account.keys()
    notes = make_world(trade("credit_union"), size="compact", rng_seed=1, now=NOW).notes
    assert any("read from the tools" in note for note in notes)
    assert any("transfer_money is refused" in note for note in notes), "a rule that was not understood"


def test_states_come_from_verbs_and_descriptions() -> None:
    of = toolset([tool("cancel_parcel", "Cancel a pending parcel.", parcel_id="string")])
    states = {record["status"] for record in types_in(made(of))["parcel"].values()}
    assert states == {"pending", "cancelled"}


def test_typed_rules_name_fields_and_states_and_get_a_case_on_each_side() -> None:
    need = from_text("parcel.status in ['pending', 'held'] and parcel.weight <= 30")
    rule = Rule(tools=("cancel_parcel",), form=Require(need=need))
    of = toolset([tool("cancel_parcel", "Cancel a parcel.", parcel_id="string")], rules=(rule,))
    parcels = types_in(made(of))["parcel"].values()
    assert {"pending", "held", "cancelled"} <= {record["status"] for record in parcels}
    assert {record["weight"] <= 30 for record in parcels} == {True, False}  # type: ignore[operator]


def test_instructions_are_followed_as_far_as_they_are_understood() -> None:
    of = shop(instructions="Add 2 cancelled orders. Make it feel like spring.")
    world = make_world(of, size="compact", rng_seed=1, now=NOW)
    assert len(types_in(world.state)["order"]) == ENTITIES["compact"] + 2
    assert any("feel like spring" in note for note in world.notes)


# -- bad input


def test_tools_without_any_noun_are_refused_with_what_to_do() -> None:
    with pytest.raises(Refused) as refused:
        made(toolset([tool("go"), tool("run", "Runs.", x="number")]))
    assert "ledger schema" in str(refused.value.problems[0].hint)


@pytest.mark.parametrize(
    "pattern", ["^(((([a-z]{9}){9}){9}){9})+$", "^(((((){60}){60}){60}){60}){60}$", "^[A-C]$", "("]
)
def test_a_pattern_that_allows_too_much_too_little_or_nothing_still_gives_different_ids(pattern: str) -> None:
    field = FieldOutline(name="key_id", kind="text", schema={"pattern": pattern})
    ids = ids_of(TypeOutline(name="key", id_field="key_id", fields=(field,)), 12, Draw(1))
    assert len(set(ids)) == 12
    assert all(0 < len(id) <= 70 for id in ids)


def test_a_schema_that_refers_in_a_circle_and_to_itself_is_filled() -> None:
    def entity(name: str, *fields: str) -> JsonObject:
        return {
            "type": name,
            "id_field": "id",
            "fields": [{"name": each, "type": "string"} for each in fields],
        }

    entities = [entity("nest", "tree_id", "parent_id"), entity("tree", "bird_id"), entity("bird", "nest_id")]
    state = types_in(made(toolset([tool("get_nest", "", nest_id="string")], {"entities": entities})))
    assert all(record["tree_id"] in state["tree"] for record in state["nest"].values())
    parents = [record["parent_id"] for record in state["nest"].values()]
    assert parents[0] is None
    assert all(parent in state["nest"] for parent in parents[1:])


def test_a_hundred_types_and_an_enum_of_five_hundred_get_a_world_and_a_note() -> None:
    entities = [
        {
            "type": f"kind{at}",
            "id_field": "id",
            "fields": [{"name": "code", "type": "string", "enum": [f"C{n}" for n in range(500)]}]
            if not at
            else [],
        }
        for at in range(100)
    ]
    of = toolset([tool("get_kind1", "", kind1_id="string")], {"entities": entities})
    world = make_world(of, size="compact", rng_seed=1, now=NOW)
    assert len(world.state) == 100
    assert any("500 values" in note for note in world.notes)


@pytest.mark.parametrize(
    ("first", "then"), [("arrival_date", "departure_date"), ("departure_at", "arrival_at")]
)
def test_who_stays_arrives_first_and_who_travels_departs_first(first: str, then: str) -> None:
    fields = [{"name": name, "type": "string"} for name in ("stay_id", first, then)]
    state = [{"name": "status", "type": "string", "enum": ["booked", "closed"]}]
    schema = {"entities": [{"type": "stay", "id_field": "stay_id", "fields": [*fields, *state]}]}
    tools = [
        tool("get_stay", "Get a stay.", stay_id="string"),
        tool("create_stay", "Book a stay.", **{first: "string", then: "string"}),
    ]
    of = toolset(tools, schema)
    world = made(of, size="rich")
    assert all(str(one[first]) <= str(one[then]) for one in types_in(world)["stay"].values())
    (call, *_) = candidates(ground_of(of, world), "create_stay", Draw(0), NOW)
    assert str(call.arguments[first]) < str(call.arguments[then])


def test_what_tools_only_speak_of_is_not_made_and_that_is_said() -> None:
    cancel = tool("cancel_load", "Cancel a load.", load_id="string", reason_code="string")
    schema = cancel["input_schema"]
    assert isinstance(schema, dict)
    schema["required"] = ["load_id"]
    of = toolset([tool("get_load", "Get a load.", load_id="string"), cancel])
    found = make_world(of, size="standard", rng_seed=1, now=NOW)
    assert set(found.state) == {"load"}
    assert [note for note in found.notes if "No reason is made" in note]


def test_the_one_date_of_a_record_is_not_all_in_one_month() -> None:
    fields = [{"name": name, "type": "string"} for name in ("voucher_id", "expires_on")]
    schema = {"entities": [{"type": "voucher", "id_field": "voucher_id", "fields": fields}]}
    of = toolset([tool("get_voucher", "Get a voucher.", voucher_id="string")], schema)
    world = made(of)
    assert [one.name for one in advisories(of, world, now=NOW)] == []


def test_a_type_that_only_a_plan_makes_is_in_the_world() -> None:
    """`reserve_studio` makes a reservation, of which no tool speaks."""
    tools = [
        tool("get_studio", "Get a studio.", studio_id="string"),
        tool("reserve_studio", "Reserve a studio.", studio_id="string", hours="integer"),
    ]
    state = make_world(toolset(tools), size="compact", rng_seed=1, now=NOW).state
    assert "reservation" in state
    one = next(iter(types_in(state)["reservation"].values()))
    assert one["studio_id"] in types_in(state)["studio"]
