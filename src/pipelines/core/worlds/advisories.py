"""What an author should look at in a world before rows are asked of it: one pure function for each.

Each says what is the matter, where, and, where a sentence would mend it, that sentence (`refine` accepts it).
"""

from collections.abc import Callable, Iterator, Mapping

from pipelines.core.json_text import JsonObject
from pipelines.core.worlds.advise_records import (
    answer_in_text,
    dangling_reference,
    doubled_key,
    narrow_dates,
    single_owner,
    state_contradicts_times,
    total_mismatch,
    unused_enum_value,
)
from pipelines.core.worlds.advise_tools import (
    rule_without_case,
    tool_cannot_fail,
    tool_cannot_succeed,
    untouched_type,
)
from pipelines.core.worlds.ground import Ground, ground_of
from pipelines.core.worlds.shapes import Advisory, Toolset

Adviser = Callable[[Ground, str], Iterator[Advisory]]

#: By name, in the order in which they are shown: what makes rows wrong first, then what makes them poor.
ADVISERS: Mapping[str, Adviser] = {
    "dangling_reference": dangling_reference,
    "total_mismatch": total_mismatch,
    "state_contradicts_times": state_contradicts_times,
    "doubled_key": doubled_key,
    "answer_in_text": answer_in_text,
    "rule_without_case": rule_without_case,
    "tool_cannot_succeed": tool_cannot_succeed,
    "tool_cannot_fail": tool_cannot_fail,
    "untouched_type": untouched_type,
    "unused_enum_value": unused_enum_value,
    "single_owner": single_owner,
    "narrow_dates": narrow_dates,
}


def advisories(
    toolset: Toolset, state: JsonObject, *, now: str, ground: Ground | None = None
) -> list[Advisory]:
    here = ground or ground_of(toolset, state)
    return [one for adviser in ADVISERS.values() for one in adviser(here, now)]
