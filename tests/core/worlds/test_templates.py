"""Sentence templates: each fits its world; and what a rewritten text of a row no longer names."""

import pytest
from worlds_kit import MORE_TRADES, NOW, OTHER_TRADES, TRADES, ground, trade, world_of

from pipelines.core.ledger.world_difference import RecordMark, record_marks, world_difference
from pipelines.core.worlds.changes.refine import refine
from pipelines.core.worlds.changes.templates import MOST_TEMPLATES, sentence_templates
from pipelines.core.worlds.ground import ground_of
from pipelines.core.worlds.rows.edited_text import lost_values

EVERY_TRADE = (*TRADES, *MORE_TRADES, *OTHER_TRADES)


@pytest.mark.parametrize("name", EVERY_TRADE)
def test_every_template_changes_its_world(name: str) -> None:
    before = world_of(name)
    offered = sentence_templates(ground(name), now=NOW)
    assert 6 <= len(offered) <= MOST_TEMPLATES
    assert len(set(offered)) == len(offered)
    for sentence in offered:
        after = refine(trade(name), before, sentence, rng_seed=3, now=NOW, size="standard").state
        assert after != before, sentence


def test_a_world_without_records_has_no_templates() -> None:
    assert sentence_templates(ground_of(trade("clinic"), {}), now=NOW) == []


def test_marks_tell_new_records_from_changed_ones() -> None:
    before = {"order": {"1": {"status": "open", "n": 1}, "2": {"status": "open"}, "3": {}}}
    after = {"order": {"1": {"status": "paid", "n": 1}, "2": {"status": "open"}, "4": {"status": "new"}}}
    assert record_marks(world_difference(before, after).listed) == {
        "order.1": RecordMark(False, {"status": "open"}),
        "order.4": RecordMark(True, {}),
    }


LOST = {
    "nothing": ("Refund order 4521", "Please refund 4521", []),
    "the id": ("Refund order 4521", "Refund my last order", ["4521"]),
    "case does not matter": ("refund ORD-1 to Ada", "Give ada her money for ord-1", []),
    "what was never named": ("Refund it", "Refund it now", []),
}


@pytest.mark.parametrize("case", LOST)
def test_values_that_a_rewritten_text_no_longer_names(case: str) -> None:
    before, after, lost = LOST[case]
    calls = [{"tool": "refund", "arguments": {"order_id": "4521", "id": "ORD-1", "to": ["Ada"], "n": 7}}]
    assert lost_values(before, after, calls) == lost
