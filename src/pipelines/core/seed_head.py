"""What a task asks, found at the beginning of its stored seed, so that a list need not read the rest."""

import re

from pipelines.core.json_text import loads_own

#: Of a stored seed: its first axis is `user_instruction`, whose characters are escaped to six at the most.
HEAD_CHARACTERS = 4_000
_INSTRUCTION = re.compile(r'\{"user_instruction":"((?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*+)')


def instruction_in(head: str, longest: int) -> str:
    """The beginning of the instruction; empty where the seed does not begin with one."""
    found = _INSTRUCTION.match(head)
    text = loads_own(f'"{found[1]}"') if found is not None else ""
    return str(text)[:longest]
