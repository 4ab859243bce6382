"""Behaviour text made to be hard to read: bounded, in words where something is not read."""

import pytest

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.build import PlannedSimulator, build_simulator
from pipelines.core.simulation.rules.language.grammar import MOST_STEPS, Node, Parser
from pipelines.core.simulation.rules.language.read import MOST_SENTENCES
from pipelines.core.tools.tools_schema import parse_tools_schema

ARGUMENTS = {"type": "object", "properties": {"order_id": {"type": "string"}}}
TOOLS = parse_tools_schema(
    [{"name": name, "description": "", "input_schema": ARGUMENTS} for name in ("get_order", "refund_order")]
)
WORLD = World.from_initial_state({"order": {"o1": {"status": "paid", "total": 5}}})


def under(text: str, **more: object) -> PlannedSimulator:
    return build_simulator(TOOLS, world=WORLD, behavior=text, **more)  # type: ignore[arg-type]


HOSTILE = {
    "32,000 spaces": "a" + " " * 32_000 + "b",
    "1,900 spaces": "a" + " " * 1_900 + "b",
    "because": "Refund it" + " because" * 200 + ",",
    "wide spaces": "a\u2003" * 10_000,
    "lines": "\n".join("a" * 2 for _ in range(10_000)),
    "minus": "-1" * 16_000,
    "or": "paid or " * 4_000,
    "brackets": "(" * 16_000 + ")" * 16_000,
    "ands": "refund_order fails when " + " and ".join(["the order is paid"] * 25),
    "nested": "refund_order fails when " + "(" * 50 + "the order is paid" + ")" * 50,
    "plus": "refund_order returns total = " + " + ".join(["the order's total"] * 22),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_of_reading_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    plain = Parser.whole

    def counted(self: Parser, line: str) -> list[Node]:
        found = plain(self, line)
        steps.append(self.steps)
        return found

    monkeypatch.setattr(Parser, "whole", counted)
    simulator = under(HOSTILE[name])
    assert simulator.plan_of("refund_order").plan is not None
    assert simulator.not_understood is not None
    # Each sentence is parsed, parsed again to say where it stopped, and perhaps cut at its clauses.
    assert all(one <= MOST_STEPS + 1 for one in steps)
    assert len(steps) <= 3 * MOST_SENTENCES


def test_a_text_stored_before_there_was_a_limit_loads_and_says_that_it_is_not_enforced() -> None:
    text = "Orders over 50 cannot be refunded. " * 100_000
    simulator = under(text)
    assert simulator.plan_of("get_order").plan is not None
    (told,) = simulator.not_understood
    assert "over the limit of 32,768, so none of it is read" in told
    assert len(simulator.unenforced) == 1


def test_what_is_past_the_limit_is_unenforced_sentence_by_sentence() -> None:
    text = " ".join(f"Frobnicate it {number} times." for number in range(MOST_SENTENCES + 30))
    simulator = under(text)
    assert len(simulator.unenforced) == MOST_SENTENCES + 30
    assert simulator.unenforced[-1] == f"Frobnicate it {MOST_SENTENCES + 29} times."
    assert "past the 400th" in simulator.not_understood[-1]


def test_reading_stops_when_its_time_is_up() -> None:
    told = under(" ".join(f"Frobnicate {n}." for n in range(5)), may_read=lambda: False).not_understood
    assert len(told) == 5
    assert all("takes too long" in one for one in told)
