"""How worlds differ, and how they are told."""

from pipelines.core.ledger.world_changes import WorldChange
from pipelines.core.ledger.world_difference import MOST_CHANGES, change_from_json, world_difference
from pipelines.core.ledger.world_tables import field_summaries, summary_of, type_counts, world_tables

BEFORE = {
    "order": {"1": {"status": "paid", "total": 3}, "2": {"status": "new"}},
    "flags": {"open": True, "old": True},
}


def test_a_world_does_not_differ_from_itself():
    same = world_difference(BEFORE, BEFORE)
    assert (same.added, same.changed, same.removed, same.flags, same.listed) == (0, 0, 0, 0, ())


def test_numbers_that_are_equal_are_the_same_value():
    assert world_difference({"a": {"1": {"x": 1}}}, {"a": {"1": {"x": 1.0}}}).changed == 0


def test_a_difference_counts_entities_and_lists_fields():
    after = {
        "order": {"1": {"status": "sent", "by": "post"}, "3": {"status": "new"}},
        "flags": {"open": True, "late": True},
    }
    found = world_difference(BEFORE, after)
    assert (found.added, found.changed, found.removed, found.flags) == (1, 1, 1, 2)
    assert found.listed[:3] == (
        WorldChange("changed", "order.1", "status", "paid", "sent"),
        WorldChange("changed", "order.1", "total", 3, None, has=False),
        WorldChange("changed", "order.1", "by", None, "post", had=False),
    )
    assert [(change.kind, change.place) for change in found.listed[3:]] == [
        ("removed", "order.2"),
        ("added", "order.3"),
        ("flag", "old"),
        ("flag", "late"),
    ]
    assert not found.is_cut


def test_a_type_that_is_gone_or_new_is_told_entity_by_entity():
    found = world_difference({"a": {"1": {}}}, {"b": {"1": {}}})
    assert [(change.kind, change.place) for change in found.listed] == [("removed", "a.1"), ("added", "b.1")]


def test_of_a_large_difference_all_is_counted_and_the_first_listed():
    many = {"order": {str(at): {"n": at} for at in range(1_000)}}
    found = world_difference({}, many)
    assert (found.added, len(found.listed), found.is_cut) == (1_000, MOST_CHANGES, True)
    huge = world_difference({}, {"order": {"1": {"text": "x" * 200_000}, "2": {}}})
    assert (huge.added, huge.listed, huge.is_cut) == (2, (), True)


def test_what_is_listed_is_read_back():
    found = world_difference(BEFORE, {})
    listed = found.as_json()["listed"]
    assert isinstance(listed, list)
    assert tuple(change_from_json(change) for change in listed) == found.listed


def test_types_are_counted_and_flags_are_no_type():
    assert type_counts(BEFORE) == {"types": [{"type": "order", "count": 2}], "entities": 2, "flags": 2}


def test_a_table_shows_some_entities_and_what_each_field_holds():
    told = world_tables(BEFORE, only=None, first=1, most=5)
    (table,) = told["tables"]
    assert table["rows"] == [{"id": "2", "cells": {"status": "new"}}]
    assert table["columns"] == [
        {"name": "status", "summary": "such as paid"},
        {"name": "total", "summary": "3 ×1, in 1 of 2"},
    ]
    assert told["flags"] == {"open": True, "old": True}
    assert world_tables(BEFORE, only="nothing", first=0, most=5)["tables"] == []


def test_a_field_is_told_by_its_values_its_range_or_an_example():
    assert summary_of(["paid", "new", "paid"], of=3) == "paid ×2, new ×1"
    assert summary_of([5, 1.5, 20], of=3) == "1.5 to 20"
    assert summary_of(["2026-01-03", "2025-12-24T10:00:00Z"], of=2) == "2025-12-24 to 2026-01-03"
    assert summary_of([[1], [2]], of=2) == "such as [1]"
    assert summary_of([None, None], of=2) == "nothing"
    assert summary_of(["x" * 100, "y" * 100], of=2) == f"such as {'x' * 59}…"
    assert field_summaries({"1": "no object"}) == {}
