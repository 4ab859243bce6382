"""A run's verdict as text: its cause by name and in words, what to do about it, and what was not verified.

Runs are API records; those of an older server have no pending reason."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.core.verdict.error_words import error_in_words
from pipelines.core.verdict.mode_words import mode_in_words
from pipelines.core.verdict.pending_words import in_order, pending_words


def cause_of(run: Any) -> str:
    """`wrong_action`, `agent_timeout` or `no_oracle`; empty if there is none."""
    return str(run["failure_mode"] or run["error_class"] or run.get("pending_reason") or "")


def cause_in_words(run: Any) -> str:
    """`no_oracle: The task does not say what completing it means.`"""
    words = pending_words(run.get("pending_reason"))
    text = mode_in_words(run["failure_mode"]) or error_in_words(run["error_class"], run.get("error_json"))
    text = text or (words.says if words else None)
    return ": ".join(filter(None, (cause_of(run), text)))


def to_do_about(run: Any) -> str:
    """What to do about a pending run; empty if it is not pending or has no reason."""
    words = pending_words(run.get("pending_reason"))
    return words.to_do if words else ""


def pending_reasons(runs: Iterable[Any]) -> dict[str, int]:
    """The number of pending runs by reason, the most basic reason first."""
    return in_order(Counter(run["pending_reason"] for run in runs if run.get("pending_reason")))


def to_do_lines(runs: Iterable[Any]) -> list[str]:
    """For each pending reason: what it means, and what to do about it."""
    found = [(reason, pending_words(reason)) for reason in pending_reasons(runs)]
    return [f"{reason}: {words.says} {words.to_do}" for reason, words in found if words is not None]


def undecided_text(runs: Sequence[Any]) -> str:
    """`2 of 12 runs are undecided: no_oracle (2).`, and what to do about each reason."""
    undecided = [run for run in runs if run.get("verdict") == "PENDING"]
    reasons = ", ".join(f"{reason} ({count})" for reason, count in pending_reasons(undecided).items())
    head = f"{len(undecided)} of {len(runs)} runs are undecided" + (f": {reasons}." if reasons else ".")
    return " ".join([head, *to_do_lines(undecided)])


def unverified_lines(run: Any) -> list[str]:
    """`"within 5 days": no record has it`, a line for each statement that was not verified."""
    found = (run.get("judgement") or {}).get("unverified") or ()
    return [_unverified_line(each) for each in found]


def _unverified_line(note: Any) -> str:
    turn = f" (turn {note['turn']})" if note["turn"] > 1 else ""
    return f'"{note["phrase"]}": {note["why"]}{turn}'
