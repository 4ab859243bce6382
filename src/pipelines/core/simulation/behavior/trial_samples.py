"""What a rule is tried with: arguments that their schema and the rule suggest, moments around the dates that
it looks at, and the seeded world as calls may leave it.

Nothing is decided here. Where there is more than can be gone through, None is said rather than a part.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from typing import Any, NamedTuple

from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger import Ledger, Update, World
from pipelines.core.python_tree import expression_tree
from pipelines.core.simulation.behavior.plan_targets import Setting
from pipelines.core.simulation.behavior.rules import ARGUMENTS, Text
from pipelines.core.simulation.behavior.things import Path, ToolWords
from pipelines.core.simulation.library.dates import moment_of

MOST_TRIED = 50  # entities of a kind; more of them would hardly be more different
MOST_COMBINED = 1_000  # calls with other arguments; more of them are not gone through
_MOST_ARGUMENTS = 3
_MOST_VALUES = 12  # of one field that arguments are compared with
_MOST_DATES = 5
_LONGEST = 10_000  # characters of a text that is made as long as a rule's number
_FAR = timedelta(days=40_000)  # longer than any span that a rule speaks of
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


class Hints(NamedTuple):
    """What the rule itself names, and what the records have where it looks."""

    numbers: tuple[float, ...]
    texts: tuple[str, ...]
    dates: tuple[datetime, ...]


def hints_of(one: Text, values: Iterable[Json], ids: Iterable[str]) -> Hints:
    written = " ".join(part for part in one.parts if isinstance(part, str))
    plain = _QUOTED.sub(" ", written)
    own = [float(found) for found in _NUMBER.findall(plain)]
    flat = (part for value in values for part in (value if isinstance(value, list) else [value]))
    seen = [value for value in flat if value is not None and not isinstance(value, (dict, list))]
    numbers = [float(value) for value in seen if isinstance(value, (int, float))]
    texts = [*_QUOTED.findall(written), *(value for value in seen if isinstance(value, str)), *ids]
    found = (moment_of(value) for value in seen)
    dates = [when.at.astimezone(UTC) for when in found if when is not None]
    return Hints(
        tuple(dict.fromkeys([*own, *numbers[:_MOST_VALUES]])),
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(dates))[:_MOST_DATES],
    )


# -- arguments


def calls_with(one: Text, tool: ToolWords, hints: Hints, *, is_dated: bool) -> list[JsonObject] | None:
    """Arguments of calls that the schema lets through; None where what they may be is not known."""
    names = dict.fromkeys(ref.path[0] for ref in one.refs() if ref.root == ARGUMENTS and ref.path)
    if any(ref.root == ARGUMENTS and len(ref.path) != 1 for ref in one.refs()):
        return None
    given = [_values(tool, name, hints, is_dated) for name in names]
    if len(given) > _MOST_ARGUMENTS or any(values is None for values in given):
        return None
    known = [values for values in given if values is not None]
    calls = [*islice(product(*known), MOST_COMBINED + 1)]
    return [dict(zip(names, call, strict=True)) for call in calls] if len(calls) <= MOST_COMBINED else None


def _values(tool: ToolWords, name: str, hints: Hints, is_dated: bool) -> list[Json] | None:
    schema = tool.arguments.get(name)
    if schema is None:
        return None
    left_out: list[Json] = [] if name in tool.required else [None]
    enum = schema.get("enum")
    if isinstance(enum, list):
        return [*enum, *left_out]
    kind = schema.get("type")
    if kind == "boolean":
        return [True, False, *left_out]
    if kind in ("integer", "number"):
        return [*_numbers(schema, hints), *left_out]
    if kind == "string" and (is_dated or str(schema.get("format", "")).startswith("date")):
        return [*(at.isoformat() for at in moments_around(hints)), *left_out]
    if kind == "string" and "pattern" not in schema:
        return [*_strings(schema, hints), *left_out]
    return None


def _strings(schema: JsonObject, hints: Hints) -> Iterator[Json]:
    """Texts that the rule or the records name, longer ones, and some as long as the rule's numbers."""
    least, most = schema.get("minLength"), schema.get("maxLength")
    lengths = [int(one) + more for one in hints.numbers if one < _LONGEST for more in (-1, 0, 1)]
    longer = (f"{text}x" for text in hints.texts[:_MOST_VALUES])
    every = ("", "x", *("x" * length for length in lengths), *hints.texts, *longer)
    for text in dict.fromkeys(every):
        if not (isinstance(least, int) and len(text) < least) and not (
            isinstance(most, int) and len(text) > most
        ):
            yield text


def _numbers(schema: JsonObject, hints: Hints) -> Iterator[Json]:
    bounds = [schema.get(name) for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
    least, most, above, below = (
        float(one) if isinstance(one, (int, float)) and not isinstance(one, bool) else None for one in bounds
    )
    declared = [one for one in (least, most, above, below) if one is not None]
    suggested = [0.0, 1.0, -1.0, *hints.numbers, *declared]
    for number in dict.fromkeys(near for one in suggested for near in (one - 1, one, one + 1)):
        is_allowed = (least is None or number >= least) and (most is None or number <= most)
        is_allowed = is_allowed and (above is None or number > above) and (below is None or number < below)
        if is_allowed and (number == int(number) or schema.get("type") == "number"):
            yield int(number) if number == int(number) else number


# -- moments


def moments_around(hints: Hints) -> list[datetime]:
    """Before, at and after each date that the rule looks at, by as much as the rule itself says."""
    spans = [timedelta(0), timedelta(days=1), _FAR]
    for number in hints.numbers:
        if 0 < number < _FAR.days:
            for near in (number - 0.5, number, number + 0.5):  # a span in months is some days more or less
                spans += [timedelta(days=near), timedelta(hours=near), timedelta(days=30.5 * near)]
    dates = hints.dates or (datetime(2026, 1, 1, tzinfo=UTC),)
    found = (_moved(at, sign * span) for at in dates for span in spans for sign in (1, -1))
    return [*dict.fromkeys(at for at in found if at is not None)]


def _moved(at: datetime, by: timedelta) -> datetime | None:
    try:
        return at + by
    except OverflowError:
        return None


# -- the world as calls may leave it


def worlds_after(
    world: World, settings: Sequence[Setting], looked_at: Mapping[str, set[Path]], hints: Hints
) -> list[Ledger]:
    """The seeded world, and for each field that calls set the world in which all records have that value."""
    ledgers = [Ledger(world)]
    for setting in dict.fromkeys(one for one in settings if _hashable(one)):
        if setting.path in looked_at.get(setting.entity_type, ()) and len(setting.path) == 1:
            ledgers += (_after(world, setting, value) for value in _set_to(setting.value, hints))
    return ledgers


def _hashable(setting: Setting) -> bool:
    return isinstance(setting.value, (str, int, float, bool, type(None)))


def _after(world: World, setting: Setting, value: Json) -> Ledger:
    ledger = Ledger(world)
    kind, name = setting.entity_type, setting.path[0]
    ids = islice(world.entities.get(kind, {}), MOST_TRIED)
    ledger.apply([Update(entity_type=kind, id=id, set={name: value}) for id in ids])
    return ledger


def _set_to(value: Json, hints: Hints) -> list[Json]:
    """The value that is written there, or whatever the rule suggests where a call says what."""
    if not isinstance(value, str):
        return [value]
    try:
        return [constant_of(value)]
    except ValueError:
        pass
    if re.search(r"\b(?:now|today)\b", value):
        return [at.isoformat() for at in moments_around(hints)[:_MOST_VALUES]]
    numbers = [near for one in hints.numbers for near in (one - 1, one, one + 1)]
    return [*numbers, *hints.texts[:_MOST_VALUES]]


def constant_of(expression: str) -> Any:
    """The value of an expression that is one; ValueError where it hangs on anything."""
    try:
        tree = expression_tree(expression)
    except SyntaxError:
        raise ValueError(expression) from None
    if isinstance(tree, ast.Constant):
        return tree.value
    words: dict[str, Any] = {"null": None, "true": True, "false": False}
    if isinstance(tree, ast.Name) and tree.id in words:
        return words[tree.id]
    raise ValueError(expression)
