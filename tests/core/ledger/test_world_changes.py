"""What a call changed, for people: each change against the world as the ones before it left it."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Add, Ledger, Remove, SetFlag, Update, World, differences, fold
from pipelines.core.ledger.world_changes import WorldChange, world_changes
from pipelines.core.text.json_text import Json, JsonObject, same

STATE: JsonObject = {"order": {"1": {"status": "new", "note": None}, "2": {}}}


def test_changes_are_told_field_by_field() -> None:
    ledger = Ledger(World.from_initial_state(STATE))
    updates = [
        Update(entity_type="order", id="1", set={"status": "paid", "note": None, "by": "x"}, unset=("gone",)),
        Update(entity_type="order", id="1", set={"status": "sent"}, unset=("note",)),
        Add(entity_type="order", id="3", attrs={"status": "new"}),
        Remove(entity_type="order", id="2"),
        SetFlag(flag="seen"),
        SetFlag(flag="seen"),
    ]
    assert world_changes(ledger, updates) == [
        WorldChange("changed", "order.1", "status", "new", "paid"),
        WorldChange("changed", "order.1", "by", None, "x", had=False),
        WorldChange("changed", "order.1", "status", "paid", "sent"),
        WorldChange("changed", "order.1", "note", None, None, has=False),
        WorldChange("added", "order.3", None, None, {"status": "new"}),
        WorldChange("removed", "order.2", None, {}, None),
        WorldChange("flag", "seen", None, False, True),
    ]
    assert ledger.as_state() == STATE  # looking changes nothing


values = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from(["a", "b"]))
entities = st.dictionaries(st.sampled_from("xyz"), st.dictionaries(st.sampled_from("fg"), values, max_size=2))


@given(before=entities, after=entities)
def test_following_the_changes_leads_to_the_world_after(
    before: dict[str, Json], after: dict[str, Json]
) -> None:
    world = World.from_initial_state({"t": before})
    updates = differences({"t": before}, {"t": after})
    state: dict[str, Json] = {id: dict(attrs) for id, attrs in before.items()}  # type: ignore[call-overload]
    for change in world_changes(Ledger(world), updates):
        id = change.place.removeprefix("t.")
        if change.kind == "removed":
            assert same(state.pop(id), change.before)
        elif change.kind == "added":
            state[id] = change.after
        else:
            of_one = state[id]
            assert isinstance(of_one, dict)
            assert change.field is not None
            assert (change.field in of_one) == change.had
            if change.has:
                of_one[change.field] = change.after
            else:
                del of_one[change.field]
    assert same(state, fold(world, updates).as_state()["t"])
