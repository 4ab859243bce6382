"""Aligns the calls of two runs: which belong together, and where the runs diverge.

The alignment is a longest common subsequence of equal calls, computed on the bits of whole numbers (Hyyrö's
way): a thousand calls against a thousand take a few milliseconds, and the answer is the exact one. What is
left between two equal calls is paired by tool: the same tool with other arguments.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

#: alike: the same call with the same reply. reply: the same call, answered by another source or status.
#: text: the same call, the same source and status, another body. arguments: the same tool. left, right: one
#: run only.
Kind: TypeAlias = Literal["alike", "text", "reply", "arguments", "left", "right"]
#: Another body alone is no other way: ids and times in it may differ in every run.
ALIKE: tuple[Kind, ...] = ("alike", "text")


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedCall:
    """One call as far as it is compared."""

    sequence: int
    tool: str
    arguments: Hashable  # equal for equal arguments
    outcome: Hashable  # who answered, with which status
    reply: Hashable  # equal for equal bodies


class AlignedRow(NamedTuple):
    kind: Kind
    left: ComparedCall | None
    right: ComparedCall | None


class Divergence(NamedTuple):
    """Positions in the aligned rows; None where there is none."""

    first: int | None  # the first difference of any kind
    lasting: int | None  # from which on they never agree more often than they differ


def align(left: Sequence[ComparedCall], right: Sequence[ComparedCall]) -> list[AlignedRow]:
    """Every call of both runs once, in the order of each."""
    pairs = common_calls([(c.tool, c.arguments) for c in left], [(c.tool, c.arguments) for c in right])
    rows: list[AlignedRow] = []
    here = there = 0
    for at, other in [*pairs, (len(left), len(right))]:
        rows += _between(left[here:at], right[there:other])
        if at < len(left):
            rows.append(_same_call(left[at], right[other]))
        here, there = at + 1, other + 1
    return rows


def divergence(rows: Sequence[AlignedRow]) -> Divergence:
    """Where the runs part for good: the first difference behind which, however far one reads on, fewer rows
    agree than differ. A retry that both runs come back from is passing, not lasting."""
    differs = [row.kind not in ALIKE for row in rows]
    first = differs.index(True) if True in differs else None
    lasting, lowest, balance = None, 0, 0
    # Backwards: `balance` is what differs less what agrees from here to the end; of all stretches that begin
    # here, the poorest one is the balance up to the lowest point behind it.
    for place in range(len(rows) - 1, -1, -1):
        step = 1 if differs[place] else -1
        balance += step
        lowest = min(step, step + lowest) if place < len(rows) - 1 else step
        if differs[place] and lowest >= 1:
            lasting = place
    return Divergence(first, lasting)


def common_calls(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of a longest common subsequence; of several, one that keeps the common beginning."""
    begins = 0
    while begins < min(len(left), len(right)) and left[begins] == right[begins]:
        begins += 1
    rest = _longest(left[begins:], right[begins:])
    return [(at, at) for at in range(begins)] + [(begins + at, begins + other) for at, other in rest]


def _longest(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    where: dict[Hashable, int] = {}  # in which places of `left` a key stands, as bits
    for place, key in enumerate(left):
        where[key] = where.get(key, 0) | 1 << place
    every = (1 << len(left)) - 1
    rows, now = [every], every
    for key in right:
        hits = now & where.get(key, 0)
        now = ((now + hits) | (now - hits)) & every
        rows.append(now)
    # A bit that is 0 in row j: one more is in common up to this place than up to the one before.
    found: list[tuple[int, int]] = []
    at, other = len(left), len(right)
    while at and other:
        if rows[other] >> (at - 1) & 1:
            at -= 1
        elif rows[other - 1] >> (at - 1) & 1:
            at, other = at - 1, other - 1
            found.append((at, other))
        else:
            other -= 1
    return found[::-1]


def _same_call(left: ComparedCall, right: ComparedCall) -> AlignedRow:
    if left.outcome != right.outcome:
        return AlignedRow("reply", left, right)
    return AlignedRow("alike" if left.reply == right.reply else "text", left, right)


def _between(left: Sequence[ComparedCall], right: Sequence[ComparedCall]) -> list[AlignedRow]:
    """Calls between two that are in common: the same tools opposite each other, the others alone."""
    rows: list[AlignedRow] = []
    here = there = 0
    pairs = (
        common_calls([call.tool for call in left], [call.tool for call in right]) if left and right else []
    )
    for at, other in [*pairs, (len(left), len(right))]:
        rows += [AlignedRow("left", call, None) for call in left[here:at]]
        rows += [AlignedRow("right", None, call) for call in right[there:other]]
        if at < len(left):
            rows.append(AlignedRow("arguments", left[at], right[other]))
        here, there = at + 1, other + 1
    return rows
