"""A run's world step by step, held against folding the log."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.core.ledger.ledger import Add, Ledger, LedgerUpdate, Remove, SetFlag, Update, World, fold
from pipelines.core.ledger.ledger_steps import changed_entities, entity_history, world_after

STATE: dict[str, Any] = {"order": {"1": {"status": "shipped", "amount": 5}, "2": {"status": "new"}}}
LOG: list[tuple[int, list[LedgerUpdate]]] = [
    (2, [Update(entity_type="order", id="1", set={"status": "refunded", "amount": 5.0})]),
    (4, [Add(entity_type="ticket", id="t", attrs={"subject": "x"}), SetFlag(flag="seen")]),
    (5, [Update(entity_type="order", id="1", set={"note": "n"}, unset=("amount",))]),
    (7, [Remove(entity_type="order", id="2"), SetFlag(flag="seen", value=False)]),
]


def test_a_step_tells_what_it_changed_and_nothing_else() -> None:
    world = World.from_initial_state(STATE)
    (change,) = world_after(world, LOG, 2).changes
    assert (change.what, [each.name for each in change.fields]) == ("changed", ["status"])
    assert (change.fields[0].before, change.fields[0].after) == ("shipped", "refunded")
    after = world_after(world, LOG, 4)
    assert [each.what for each in after.changes] == ["added"]
    assert [(each.flag, each.value) for each in after.flag_changes] == [("seen", True)]
    assert world_after(world, LOG, 3).changes == []


def test_the_world_after_a_step_tells_which_step_each_change_is_from() -> None:
    after = world_after(World.from_initial_state(STATE), LOG, 7)
    entities = {(each.entity_type, each.id): each for each in changed_entities(after)}
    assert list(entities) == [("order", "2"), ("order", "1"), ("ticket", "t")]
    order = {each.name: each for each in entities["order", "1"].fields}
    assert (order["status"].what, order["status"].step) == ("changed", 2)
    assert (order["amount"].what, order["amount"].step) == ("removed", 5)
    assert (order["note"].what, order["note"].step) == ("added", 5)
    assert entities["order", "2"].what == "removed"
    assert entities["ticket", "t"].what == "added"


def test_an_entity_has_its_whole_history() -> None:
    history = entity_history(World.from_initial_state(STATE), LOG, ("order", "1"))
    assert [(each.step, [change.name for change in each.fields]) for each in history] == [
        (2, ["status"]),
        (5, ["amount", "note"]),
    ]


def test_what_was_changed_back_is_kept() -> None:
    back = [
        *LOG[:1],
        (3, [Update(entity_type="order", id="1", set={"status": "shipped", "amount": 5})]),
    ]
    (order,) = changed_entities(world_after(World.from_initial_state(STATE), back, 3))
    assert order.what == "kept"
    assert {each.what for each in order.fields} == {"kept"}


names = st.sampled_from(["a", "b", "c"])
values = st.dictionaries(st.sampled_from(["x", "y", "z"]), st.integers(0, 2), max_size=3)


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[int, list[LedgerUpdate]]]:
    """Logs that fit the world they are applied to."""
    ledger, log = Ledger(World({"t": {"a": {"x": 1}}})), []
    for sequence in range(1, draw(st.integers(0, 8)) + 1):
        id, attrs = draw(names), draw(values)
        update: LedgerUpdate
        if ledger.get("t", id) is None:
            update = Add(entity_type="t", id=id, attrs=attrs)
        elif draw(st.booleans()):
            update = Update(entity_type="t", id=id, set=attrs, unset=("z",))
        else:
            update = draw(st.sampled_from([Remove(entity_type="t", id=id), SetFlag(flag=id)]))
        ledger.apply([update])
        log.append((sequence, [update]))
    return log


@given(logs(), st.integers(0, 9))
def test_the_world_after_a_step_is_the_log_folded_up_to_it(
    log: list[tuple[int, list[LedgerUpdate]]], step: int
) -> None:
    world = World({"t": {"a": {"x": 1}}})
    wanted = fold(world, [update for sequence, updates in log if sequence <= step for update in updates])
    after = world_after(world, log, step)
    assert after.ledger.as_state() == wanted.as_state()
    assert after.ledger.flags() == wanted.flags()
    differing = {each.id: each for each in changed_entities(after) if each.what != "kept"}
    before = Ledger(world)
    for id in "abc":
        is_other = before.get("t", id) != wanted.get("t", id)
        assert (id in differing) >= is_other
        assert is_other or id not in differing or wanted.get("t", id) is None
