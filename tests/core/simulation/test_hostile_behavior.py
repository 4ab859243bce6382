"""Behaviour text made to be hard to read: bounded, in words where something is not read."""

import time

import pytest

from pipelines.core.ledger import World
from pipelines.core.simulation.behavior import Behavior, read_behavior
from pipelines.core.simulation.behavior.read import MAX_SENTENCES
from pipelines.core.simulation.build import build_simulator
from pipelines.core.tools_schema import parse_tools_schema

ARGUMENTS = {"type": "object", "properties": {"order_id": {"type": "string"}}}
TOOLS = parse_tools_schema(
    [{"name": name, "description": "", "input_schema": ARGUMENTS} for name in ("get_order", "refund_order")]
)
WORLD = World.from_initial_state({"order": {"o1": {"status": "paid", "total": 5}}})


def read(text: str, **more: object) -> Behavior:
    return read_behavior(text, tools=TOOLS, world=WORLD, ledger_schema=None, **more)  # type: ignore[arg-type]


def seconds(text: str) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 32_000 + "b",
        "a" + " " * 1_900 + "b",
        "Refund it" + " because" * 200 + ",",
        "Refund it" + " per" * 400,
        "a\u2003" * 10_000,
        "\n".join("a" * 2 for _ in range(10_000)),
        "-1" * 16_000,
        "paid or " * 4_000,
        "(" * 16_000 + ")" * 16_000,
    ],
    ids=[
        "32,000 spaces",
        "1,900 spaces",
        "because",
        "per",
        "wide spaces",
        "lines",
        "minus",
        "or",
        "brackets",
    ],
)
def test_reading_takes_no_longer_than_a_text_of_its_size_may(text: str) -> None:
    assert min(seconds(text) for _ in range(3)) < 1.0


def test_a_text_stored_before_there_was_a_limit_loads_at_once_and_says_that_it_is_not_enforced() -> None:
    text = "Orders over 50 cannot be refunded. " * 100_000
    assert seconds(text) < 1.0
    (told,) = read(text).not_understood
    assert "at most 32,768 are read" in told
    simulator = build_simulator(TOOLS, world=WORLD, behavior=text)
    assert simulator.plan_of("get_order").plan is not None
    assert simulator.not_understood == (told,)
    assert simulator.unenforced == (told,)


def test_of_many_sentences_the_rest_is_told_as_not_read() -> None:
    read_all = read("Frobnicate it. " * (MAX_SENTENCES + 30)).not_understood
    assert len(read_all) == MAX_SENTENCES + 1
    assert read_all[-1] == "Frobnicate it. (from here on 30 sentences were not read)"


def test_what_is_past_the_limit_is_unenforced_sentence_by_sentence() -> None:
    text = " ".join(f"Frobnicate it {number} times." for number in range(MAX_SENTENCES + 30))
    unenforced = build_simulator(TOOLS, world=WORLD, behavior=text).unenforced
    assert len(unenforced) == MAX_SENTENCES + 30
    assert unenforced[-1] == f"Frobnicate it {MAX_SENTENCES + 29} times."


def test_reading_stops_when_its_time_is_up() -> None:
    answers = iter([True, True, False])
    told = read("Frobnicate it. " * 5, may_read=lambda: next(answers)).not_understood
    assert told[2:] == ("Frobnicate it. (from here on 3 sentences were not read)",)


def test_a_reason_behind_a_rule_is_still_left_out() -> None:
    plain = read("Orders that are paid cannot be refunded.")
    assert len(plain.rules) == 1
    for ending in (" because of fraud.", ", because of fraud.", " ,  due to the law.", " as per our policy."):
        assert len(read("Orders that are paid cannot be refunded" + ending).rules) == 1
