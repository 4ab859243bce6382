"""The ledger: whatever is done to it, the folded state and the log agree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import (
    Add,
    InvalidUpdate,
    Ledger,
    Remove,
    SetFlag,
    Update,
    World,
    differences,
    fold,
    update_from_json,
)

STATE = {
    "user": {"u-1": {"email": "alice@example.com", "tier": "gold"}},
    "order": {"o-101": {"user_id": "u-1", "total": 49.99}, "o-102": {"user_id": "u-2", "total": 5}},
}


def world() -> World:
    return World.from_initial_state(STATE)


ids = st.sampled_from(["o-101", "o-102", "o-7", "o-8"])
attrs = st.dictionaries(
    st.sampled_from(["status", "total", "user_id"]), st.sampled_from([1, "x", None, [1], True])
)
updates = st.one_of(
    st.builds(Add, entity_type=st.just("order"), id=ids, attrs=attrs),
    st.builds(Update, entity_type=st.just("order"), id=ids, set=attrs, unset=st.just(("total",))),
    st.builds(Remove, entity_type=st.just("order"), id=ids),
    st.builds(SetFlag, flag=st.sampled_from(["outage", "sale"]), value=st.booleans()),
)


@given(st.lists(updates, max_size=30))
def test_the_log_of_any_history_folds_to_the_state_the_run_saw(history):
    live = Ledger(world())
    log = []
    for update in history:
        draft = live.draft()
        try:
            draft.apply([update])
        except InvalidUpdate:
            continue
        assert list(draft.entities("order")) == list(fold(world(), [*log, update]).entities("order"))
        assert draft.count("order") == len(list(draft.entities("order")))
        live.apply(draft.updates)
        log.append(update)
    replayed = fold(world(), [update_from_json(update.as_json()) for update in log])
    assert replayed.as_state() == live.as_state()
    assert replayed.flags() == live.flags()
    for name in ("status", "total", "user_id"):
        for value in (1, "x", True, None, "u-1"):
            expected = [
                id
                for id, entity in live.entities("order")
                if entity.get(name) == value and isinstance(entity.get(name), bool) == isinstance(value, bool)
            ]
            assert sorted(live.find_by_value("order", name, value)) == sorted(expected)


@given(st.lists(updates, max_size=15))
def test_differences_of_two_states_lead_from_one_to_the_other(history):
    after = Ledger(world())
    for update in history:
        try:
            after.apply([update])
        except InvalidUpdate:
            continue
    again = fold(world(), differences(Ledger(world()).as_state(), after.as_state()))
    assert again.as_state() == after.as_state()


def test_a_dropped_draft_changes_nothing():
    ledger = Ledger(world())
    draft = ledger.draft()
    draft.apply([Update(entity_type="order", id="o-101", set={"total": 1}), SetFlag(flag="sale")])
    assert draft.get("order", "o-101") == {"user_id": "u-1", "total": 1}
    assert draft.is_flagged("sale")
    assert ledger.as_state() == STATE
    assert not ledger.is_flagged("sale")


@pytest.mark.parametrize(
    ("seeded", "given_id", "found"),
    [
        ("4521", "4521", "4521"),
        ("4521", 4521, "4521"),
        ("4521", "#4521", "4521"),
        ("#W4521", "W4521", "#W4521"),
        ("#W4521", "w4521", "#W4521"),
        ("o-101", "101", "o-101"),
        ("o-101", "O101", "o-101"),
        ("00042", 42, "00042"),
        ("4521", "o-4521", "4521"),
        ("o-101", "p-101", None),
        ("o-101", "o-101x", None),
        ("4521", "4522", None),
        ("4521", True, None),
        ("4521", 4521.0, None),
        ("4521", "", None),
    ],
)
def test_ids_are_found_in_all_their_spellings(seeded, given_id, found):
    ledger = Ledger(World.from_initial_state({"order": {seeded: {}, "x-9": {}}}))
    assert ledger.resolve_id("order", given_id) == found


def test_an_id_that_could_mean_two_entities_is_not_found():
    ledger = Ledger(World.from_initial_state({"order": {"a-1": {}, "b-1": {}}}))
    assert ledger.resolve_id("order", "1") is None


def test_flags_may_stand_beside_the_entity_types():
    ledger = Ledger(World.from_initial_state({"order": {}, "flags": {"outage": True, "sale": False}}))
    assert ledger.flags() == ["outage"]
    assert ledger.entity_types() == ["order"]


@pytest.mark.parametrize("body", [{}, {"op": "merge"}, {"op": "add", "entity_type": "order", "id": "1"}])
def test_a_row_that_is_no_update_is_refused(body):
    with pytest.raises(InvalidUpdate):
        update_from_json(body)
