"""The conversation with a persona on the page of a run: its messages, and the facts behind each."""

from typing import Any

from pipelines.core.agents.transcript import Message, messages_from_stored
from pipelines.core.persona.endings import ENDED_BY
from pipelines.core.persona.facts import Knowledge, facts_in
from pipelines.storage.runs.runs import Run

MOST_LINES = 200
KNOWLEDGE_WORDS = {
    Knowledge.KNOWN: "knows",
    Knowledge.WHEN_ASKED: "only if asked",
    Knowledge.UNKNOWN: "does not know",
}


def talk_context(run: Run) -> dict[str, Any] | None:
    """The template context of the conversation; None if no model played the user."""
    conversation: Any = run.conversation if isinstance(run.conversation, dict) else {}
    if conversation.get("played_by") != "persona":
        return None
    turns = {turn["turn"]: turn for turn in conversation.get("turns", ())}
    lines = _lines(messages_from_stored(run.messages or ()), turns)
    used = [fact for turn in turns.values() for fact in turn["facts_used"]]
    return {
        "model": conversation.get("model"),
        "prompt_version": conversation.get("prompt_version"),
        "ended_by": ENDED_BY.get(conversation.get("ended_by"), conversation.get("ended_by")),
        "reason": conversation.get("reason"),
        "lines": lines[:MOST_LINES],
        "more": max(0, len(lines) - MOST_LINES),
        "facts": [
            {
                "id": fact.id,
                "text": fact.text,
                "knowledge": KNOWLEDGE_WORDS[fact.knowledge],
                "used": used.count(fact.id),
            }
            for fact in facts_in(run.seed.user_simulator_persona)
        ],
    }


def _lines(messages: tuple[Message, ...], turns: dict[int, Any]) -> list[dict[str, Any]]:
    """The messages of both sides; the user's with the facts behind them. The task itself has the opening."""
    lines: list[dict[str, Any]] = []
    number = 0
    for message in messages:
        if message.role not in ("user", "assistant") or not message.text().strip():
            continue
        is_user = message.role == "user"
        number += is_user
        turn = turns.get(number, {}) if is_user else {}
        lines.append(
            {
                "by": "user" if is_user else "agent",
                "text": message.text(),
                "facts": turn.get("facts_used", ()),
                "reason": turn.get("reason"),
                "stop_ignored": turn.get("stop_ignored", False),
                "attempts": turn.get("attempts", 1),
            }
        )
    return lines
