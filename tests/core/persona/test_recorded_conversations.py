"""Whole conversations, written by somebody who had not seen the checks: half of them with one planted fault.

There are two sets of 40, of other trades and hands. At their first run 13 of the first set's 20 faults were
found by their name and 5 of its 20 clean ones flagged; of the second's, 13 and 2. Each time the rules were
mended with them at hand, so what holds here says less of conversations that nobody here has seen.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.core.persona.facts import facts_in
from pipelines.core.persona.faults import faults_in, is_stop_ignored
from pipelines.core.persona.talk import USER, Line, Talk, UserWords

CONVERSATIONS = [
    recorded
    for name in ("conversations.json", "conversations_second.json")
    for recorded in json.loads(Path(__file__).with_name(name).read_text())
]


def talk_of(recorded: Any, most: int | None = None) -> Talk:
    return Talk(
        opening=recorded["opening"],
        persona=recorded["persona"],
        facts=facts_in(recorded["persona"]),
        lines=tuple(Line(line["by"], line["text"]) for line in recorded["lines"][:most]),
        today=recorded["today"],
        turns_left=5,
        behavior=recorded["behavior"],
    )


def faults_of(recorded: Any) -> set[str]:
    talk = talk_of(recorded)
    words = UserWords.from_answer(recorded["answer"])
    ignored = {"stopped_early"} if is_stop_ignored(words, talk) else set()
    return {fault.kind.value for fault in faults_in(words, talk)} | ignored


@pytest.mark.parametrize("recorded", CONVERSATIONS, ids=[each["name"] for each in CONVERSATIONS])
def test_every_planted_fault_is_found_and_no_clean_answer_flagged(recorded: Any) -> None:
    found = faults_of(recorded)
    assert recorded["fault"] in found if recorded["fault"] else found == set()


def test_what_the_person_said_before_is_clean_too() -> None:
    """But for one who tells more than the room that was asked for: that is a fault of those who wrote it."""
    flagged = [
        (recorded["name"], fault.kind.value)
        for recorded in CONVERSATIONS
        for place, line in enumerate(recorded["lines"])
        if place and line["by"] == USER
        for fault in faults_in(
            UserWords(message=line["text"], stop=False, reason="", facts_used=()), talk_of(recorded, place)
        )
    ]
    assert flagged == [("hotel_invented_email", "revealed_early")]
