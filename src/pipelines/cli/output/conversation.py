"""The messages of a conversation, a line each: with the facts behind a persona's messages, and its end."""

from collections.abc import Iterator
from typing import Any

from pipelines.cli.output.blocks import shortened
from pipelines.core.persona.endings import ENDED_BY


def conversation_lines(run: Any, longest: int) -> list[str]:
    """Empty if the run is not a conversation, or has no record of one."""
    talk = run["conversation"]
    text = list(_message_lines(run["messages"] or (), _turns_by_number(talk), longest)) if talk else []
    if text and talk["played_by"] == "persona":
        why = f" ({shortened(talk['reason'], longest)})" if talk["reason"] else ""
        ended = ENDED_BY.get(talk["ended_by"], talk["ended_by"])
        text.append(f"ended: {ended}{why}")
        text.append(f"the user is played by {talk['model']}, {talk['prompt_version']}")
    return text


def _message_lines(messages: Any, turns: dict[int, Any], longest: int) -> Iterator[str]:
    number = 0
    for message in messages:
        is_user = message.get("role") == "user"
        if not isinstance(message.get("content"), str) or not (is_user or message["role"] == "assistant"):
            continue
        number += is_user
        words = shortened(message["content"], longest * 2)
        rests = _turn_notes(turns.get(number)) if is_user else ""
        yield f"{'user' if is_user else 'agent'}: {words}{rests}"


def _turn_notes(turn: Any) -> str:
    if turn is None:
        return ""
    facts = [f"based on {', '.join(turn['facts_used'])}"] if turn["facts_used"] else []
    stop_notes = ["tried to leave while the agent waited"] if turn["stop_ignored"] else []
    again = ["needed a second attempt"] if turn["attempts"] > 1 else []
    notes = [*facts, *stop_notes, *again]
    return f"  [{'; '.join(notes)}]" if notes else ""


def _turns_by_number(talk: Any) -> dict[int, Any]:
    return {turn["turn"]: turn for turn in talk["turns"]}
