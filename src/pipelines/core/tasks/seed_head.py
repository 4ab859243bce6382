"""Reads the instruction from the beginning of a stored seed, so that a list need not read the rest."""

import re
from typing import NamedTuple

from pipelines.core.tasks.seed import AXES
from pipelines.core.text.json_text import loads_own

#: Of a stored seed: its first axis is `user_instruction`, whose characters are escaped to six at the most.
HEAD_CHARACTERS = 4_000
_INSTRUCTION = re.compile(r'\{"user_instruction":"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*+)')


def instruction_in(head: str, longest: int) -> str:
    """The beginning of the instruction; empty where the seed does not begin with one."""
    found = _INSTRUCTION.match(head)
    text = loads_own(f'"{found[1]}"') if found is not None else ""
    return str(text)[:longest]


#: Of a stored seed in a list: enough for all but the largest.
LOOKED_AT_CHARACTERS = 20_000
_AXIS = re.compile(r'[{,]"(' + "|".join(AXES) + r')":')


class SeedHead(NamedTuple):
    """Which axes a seed has, and whether one of them decides its verdict."""

    axes: frozenset[str]
    has_oracle: bool


def head_in(text: str, *, has_world: bool) -> SeedHead:
    """Of a stored seed, or of the beginning of one that is longer: then as its names stand there."""
    world = {"initial_state"} if has_world else set()
    try:
        seed = loads_own(text)
    except ValueError:  # it was cut
        axes = frozenset(_AXIS.findall(text)) | world
        return SeedHead(axes, bool(axes & _DECIDING) or '"check":' in text)
    assert isinstance(seed, dict)
    constraints = seed.get("tracked_constraints")
    listed = constraints if isinstance(constraints, list) else []
    is_checked = any(isinstance(one, dict) and one.get("check") is not None for one in listed)
    axes = frozenset(axis for axis in seed if axis in AXES) | world
    return SeedHead(axes, is_checked or any(seed.get(axis) for axis in _DECIDING))


_DECIDING = frozenset(
    ("expected_state", "expected_calls", "expected_answer", "expected_outcome", "scenario_ref")
)
