"""Credentials of an org: what they may be called and what their values may be. How values are taken out of
what a run leaves behind: `redaction`."""

import re
from collections.abc import Mapping

CREDENTIAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
NAME_RULE = "letters, digits and `_`, not beginning with a digit, at most 128"
# Shorter ones stand in every text by chance: they could not be kept out of what a run prints.
SHORTEST_VALUE, LONGEST_VALUE = 4, 32_768
#: Of a value with several lines, a line this long is hidden also where it stands alone.
SHORTEST_LINE = 8
#: Of all values of one agent together: what is looked for in everything its runs leave behind.
LONGEST_TOGETHER = 32_768
MOST_SECRETS = 100  # of one agent

# The platform's own, and those that decide which programs and libraries a process loads.
_RESERVED = re.compile(
    r"_?PIPELINES_.*|LD_.*|PYTHON.*|PATH|HOME|TMPDIR|LANG|LC_.*|SHELL|USER|PWD", re.IGNORECASE
)


def name_complaint(name: str) -> str | None:
    if CREDENTIAL_NAME.fullmatch(name) is None:
        return f"is not a valid name of an environment variable: {NAME_RULE}"
    if _RESERVED.fullmatch(name) is not None:
        return "is set by the platform or the system; choose another name"
    return None


def value_complaint(value: str) -> str | None:
    """Why a value could not be kept secret; never the value itself."""
    if len(value.strip()) < SHORTEST_VALUE:
        return (
            f"`value` has fewer than {SHORTEST_VALUE} characters besides spaces, too few to be masked in"
            " what a run prints: they occur in other texts by chance"
        )
    return None


def value_warnings(value: str) -> list[str]:
    """What of a value is hidden only in part."""
    short = [line for line in value.strip().splitlines() if 0 < len(line.strip()) < SHORTEST_LINE]
    if not short or len(value.strip().splitlines()) == 1:
        return []
    return [
        f"{len(short)} of its lines have fewer than {SHORTEST_LINE} characters: if printed without the lines"
        " around them, they are not masked"
    ]


def together_complaint(secrets: Mapping[str, str]) -> str | None:
    together = sum(map(len, secrets.values()))
    if together <= LONGEST_TOGETHER:
        return None
    return f"its secrets have {together:,} characters in all; at most {LONGEST_TOGETHER:,} are allowed"
