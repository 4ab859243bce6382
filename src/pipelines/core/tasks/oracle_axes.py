"""The oracle axes of a seed, which may be corrected after runs were made with it."""

from dataclasses import dataclass, replace

from pipelines.core.calls.run_moment import seed_name
from pipelines.core.tasks.seed import Seed
from pipelines.core.text.authored import Fields
from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.text.problems import Problem

#: Each has the same name as its column of an upload.
ORACLE_AXES = (
    *("expected_outcome", "expected_state", "expected_calls", "expected_answer"),
    *("tracked_constraints", "rubric"),
)
MOST_NOTE = 5_000  # characters
MOST_NAME = 255


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    axes: JsonObject  # those that are given; null takes one away
    note: str
    by: str | None  # None leaves it to the key
    problems: tuple[Problem, ...]  # to be told with those of the axes


def read_correction(body: JsonObject) -> Correction:
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown((*ORACLE_AXES, "note", "by"))
    axes = {axis: body[axis] for axis in ORACLE_AXES if axis in body}
    if not axes:
        named = ", ".join(f"`{axis}`" for axis in ORACLE_AXES)
        problems.append(Problem(path="", message=f"give at least one of {named}"))
    note = fields.text("note", longest=MOST_NOTE, may_be_blank=True) or ""
    by = fields.text("by", longest=MOST_NAME)
    return Correction(axes=axes, note=note, by=by.strip() if by else None, problems=tuple(problems))


def with_oracle_of(seed: Seed, other: Seed) -> Seed:
    """The seed as it was, to be judged by the oracle of another version of its task."""
    return replace(seed, **{axis: getattr(other, axis) for axis in ORACLE_AXES})


def oracle_in(seed_text: str) -> JsonObject:
    """The oracle of a stored seed, of whatever version; null where it has no such part."""
    seed = loads_own(seed_text)
    assert isinstance(seed, dict)
    return {axis: seed.get(axis) for axis in ORACLE_AXES}


def corrected_body(stored: JsonObject, checked: JsonObject, world_name: str | None) -> JsonObject:
    """A stored seed, without its world, with the oracle of `checked`. It draws its ids and chance as before:
    what counts as right is no part of the world."""
    kept = {axis: value for axis, value in stored.items() if axis not in ORACLE_AXES}
    oracle = {axis: checked[axis] for axis in ORACLE_AXES if axis in checked}
    drawn_as = seed_name(stored, world_name)
    kept.pop("drawn_as", None)
    body = Seed.from_stored(kept | oracle).as_json()  # in the one order in which seeds are stored
    if seed_name(body, world_name) == drawn_as:
        return body  # as it was uploaded
    return Seed.from_stored(body | {"drawn_as": drawn_as}).as_json()
