"""The texts of a draft: its name, why it was drafted, and notes for the person who decides on it."""

from collections.abc import Iterable
from typing import NamedTuple

from pipelines.core.evals.telemetry.draft_cases import Case
from pipelines.core.evals.telemetry.leaves import Flag, Path, is_masked, leaf_as_json
from pipelines.core.evals.telemetry.regions import Condition, Region, Regions
from pipelines.core.evals.telemetry.splits import ABSENT, Cell, Column, Presence
from pipelines.core.text.json_text import Json, JsonObject, pointer

LONGEST_NAME = 200
RISK_LEVEL = "medium"  # what a skill is worth cannot be read from a span
MOST_SHOWN = 3  # conditions or values in a name
_NOT_RIGHT = "This is what the agent did, not necessarily what it should do."
_FILL_IN = "expected_behavior is empty: fill in the right behavior."


class Limits(NamedTuple):
    """All conditions on one field together. Without levels it is compared by number."""

    column: Column
    is_comparable: bool
    at_least: float | None
    at_most: float | None
    levels: tuple[Cell, ...]  # that are left

    @property
    def others(self) -> list[Cell]:
        return [level for level in self.column.levels if level not in self.levels]


def _limits(region: Region) -> list[Limits]:
    cuts: dict[int, list[Condition]] = {}
    for condition in region.conditions:
        cuts.setdefault(id(condition.cut.column), []).append(condition)
    return [_together(conditions) for conditions in cuts.values()]


def _together(conditions: list[Condition]) -> Limits:
    column = conditions[0].cut.column
    is_comparable = all(is_left is not None for _, is_left in conditions)
    levels = [*enumerate(column.levels)]
    for cut, is_left in conditions:
        levels = [(at, level) for at, level in levels if (at in cut.left) is is_left]
    return Limits(
        column=column,
        is_comparable=is_comparable,
        at_least=max((cut.above for cut, is_left in conditions if is_left is False), default=None),
        at_most=min((cut.below for cut, is_left in conditions if is_left), default=None),
        levels=tuple(level for _, level in levels),
    )


def shape_of(region: Region) -> JsonObject:
    """By JSON Pointer: what the inputs of a region have in common."""
    shapes: dict[str, JsonObject] = {}
    for limits in _limits(region):
        one = shapes.setdefault(pointer(limits.column.path), {})
        if not limits.is_comparable:
            one["not_comparable"] = True
        elif limits.column.levels:
            here, others = limits.levels, limits.others
            is_few = len(here) <= max(2, len(others))
            named = here if is_few else others
            values = [leaf_as_json(level) for level in named if not isinstance(level, Presence)]
            one |= {"in" if is_few else "not_in": values} if values else {}
            one |= {level.value: is_few for level in named if isinstance(level, Presence)}
        else:
            bounds = {"at_least": limits.at_least, "at_most": limits.at_most}
            one |= {name: value for name, value in bounds.items() if value is not None}
    return {**shapes}


def name_of(skill: str, case: Case, found: Regions) -> str:
    given = [_limit(limits) for limits in _limits(case.region)]
    if case.split is not None:
        path = case.split.cut.column.path
        others = [_limit(limits) for limits in _limits(case.region) if limits.column.path != path]
        given = [f"{_field(path)} {_cell_text(found.inputs[path][case.row])} (at the border)", *others]
    if case.rare is not None:
        given = [_with(*case.rare), *given]
    words = ", ".join(given[:MOST_SHOWN]) or "any input"
    end = f"{_end(case, found)}{' (unlike others)' if case.role == 'exception' else ''}"
    return f"{skill}: {words} → {end}"[:LONGEST_NAME]


def _end(case: Case, found: Regions) -> str:
    if case.role == "open":
        return "not settled"
    return _outcome(case.outcome) if case.outcome else _outcome(_decided_fields(case.region, found))


def _decided_fields(region: Region, found: Regions) -> list[tuple[Path, Cell]]:
    return [(path, region.settled[path]) for path in found.deciding if path in region.settled]


def _outcome(told: Iterable[tuple[Path, Cell]]) -> str:
    words = [
        f"{_field(path)} {_cell_text(cell)}" for path, cell in told if cell is ABSENT or not is_masked(cell)
    ]
    return " and ".join(words[:MOST_SHOWN]) or "its usual outcome"


def description_of(skill: str, case: Case, found: Regions) -> str:
    where = " and ".join(_limit(limits) for limits in _limits(case.region)) or "any input"
    usual = _outcome(_decided_fields(case.region, found))
    k, n = case.k, case.n
    if case.role == "open":
        return (
            f"Not settled: {n} decisions of {skill} with {where} ended in different ways, the commonest {k}"
            f" times, and no field of the input explains it. {_FILL_IN}"
        )
    if case.role == "exception":
        return (
            f"An exception: {k} of {n} decisions of {skill} with {where} ended with {_outcome(case.outcome)},"
            f" {len(case.region.alike)} with {usual}. No field that was compared explains it. {_FILL_IN}"
        )
    if case.role == "rare":
        assert case.rare is not None
        return (
            f"A rare input: {n} decisions of {skill} {_with(*case.rare, is_sentence=True)}, and all ended as"
            f" usual, with {usual}. {_NOT_RIGHT}"
        )
    if case.split is not None:
        side = "last before" if case.role == "below" else "first after"
        return (
            f"At a border: the decision {side} it. {k} of {n} decisions of {skill} with {where} ended"
            f" with {usual}. {_NOT_RIGHT}"
        )
    return f"{k} of {n} decisions of {skill} with {where} ended with {usual}. {_NOT_RIGHT}"


def notes_of(case: Case, found: Regions, *, has_masked_input: bool) -> tuple[str, ...]:
    notes = [f"risk_level is not known from telemetry: {RISK_LEVEL} until a person decides"]
    splits = [s for s in found.splits if any(c.cut is s.cut for c in case.region.conditions)]
    for split in splits:
        cut, target = split.cut, _field(split.target.path)
        where = _field(cut.column.path)
        if not cut.column.levels:
            where += f" (up to {_number(cut.below)}, from {_number(cut.above)} on; nothing between was seen)"
        rivals = f"; {_fields(split.rivals)} separates about as well" if split.rivals else ""
        notes.append(
            f"{target} depends on {where}: tau {cut.tau:.2f}, corrected p {_chance(split.p)}{rivals}"
        )
    unsettled = [t.path for t in found.outcomes.varying if t.path not in case.region.settled]
    if unsettled and case.region.is_settled:
        notes.append(f"not settled here, so not expected: {_fields(unsettled)}")
    if errors := found.errors_in(case.region):
        notes.append(f"{errors} more decisions with this kind of input failed")
    if has_masked_input:
        notes.append("input_context has masked values: replace them")
    return tuple(notes)


def _chance(p: float) -> str:
    return "below 0.0001" if p < 0.0001 else f"{p:.4f}"


def _limit(limits: Limits) -> str:
    name = _field(limits.column.path)
    if not limits.is_comparable:
        return f"{name} missing or unusual"
    if not limits.column.levels:
        ends = (("from", limits.at_least), ("up to", limits.at_most))
        return f"{name} {' '.join(f'{word} {_number(end)}' for word, end in ends if end is not None)}"
    here, others = limits.levels, limits.others
    if len(here) > max(2, len(others)):
        return f"{name} other than {' or '.join(map(_cell_text, others))}"
    if len(here) == 1 and isinstance(here[0], Presence):
        return _with(limits.column.path, here[0])
    return f"{name} {' or '.join(map(_cell_text, here))}"


def _with(path: Path, value: Cell, *, is_sentence: bool = False) -> str:
    if isinstance(value, Presence):
        words = "without" if value is ABSENT else "with"
        return f"{'came ' if is_sentence else ''}{words} {_field(path)}"
    return f"{'had ' if is_sentence else ''}{_field(path)} {_cell_text(value)}"


def _field(path: Path) -> str:
    return ".".join(path)


def _fields(paths: Iterable[Path]) -> str:
    return ", ".join(sorted(map(_field, paths)))


def _number(value: float) -> str:
    return f"{value:.10g}"


def _cell_text(cell: Cell) -> str:
    if isinstance(cell, Presence):
        return cell.value
    if isinstance(cell, Flag):
        return "true" if cell.is_true else "false"
    value: Json = leaf_as_json(cell)
    if isinstance(value, list):
        return ", ".join(map(str, value))[:80] or "nothing"
    return str(value)[:40]
