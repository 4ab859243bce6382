"""What a field is to hold, as a sentence says it: of the field's type, one of its values, a known id."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from pipelines.core.english.words import article
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.ledger_schema import is_of_type
from pipelines.core.problems import Problem
from pipelines.core.simulation.library.dates import moment_of
from pipelines.core.worlds.asked_changes import Said
from pipelines.core.worlds.outline import FieldOutline, TypeOutline
from pipelines.core.worlds.shapes import NotUnderstood
from pipelines.core.worlds.times import is_moment, write_moment

_NOTHING = frozenset(("null", "nothing", "none", "empty"))
_SWITCHES: Mapping[str, bool] = {"true": True, "yes": True, "false": False, "no": False}
_TYPES = {"text": "string", "whole": "integer", "list": "array"}  # others are called as in JSON


def refused(message: str, hint: str | None = None) -> NotUnderstood:
    return NotUnderstood([Problem(path="/prompt", message=message, hint=hint)])


def a_(own: TypeOutline) -> str:
    """`an order`."""
    return f"{article(own.noun).lower()} {own.noun}"


def value_said(
    own: TypeOutline, one: FieldOutline, said: Said, records: Mapping[str, Mapping[str, JsonObject]], now: str
) -> Json:
    """The value, or a problem that says what it may be."""
    if one.name == own.id_field:
        raise refused(f"{own.id_field} is the id of {a_(own)}: ids are given by the world, and stay")
    if said.text.lower() in _NOTHING and not said.is_quoted and said.text not in one.values:
        return None
    if one.refers_to is not None and one.kind != "list":
        return kept_id(one, _known_id(one.refers_to, said.text, records))
    seen = (record.get(one.name) for record in records.get(own.name, {}).values())
    known = next((each for each in (*one.values, *seen) if _is_same(each, said.text)), None)
    if known is None and one.values and one.is_closed:
        allowed = ", ".join(map(str, one.values[:12]))
        raise refused(f"{one.name} of {a_(own)} cannot be “{said.text}”", f"it may be {allowed}")
    value = known if known is not None else _typed(one, said, now)
    wanted = _TYPES.get(one.kind, one.kind)
    if not is_of_type(value, wanted):
        raise refused(f"{one.name} of {a_(own)} must be of type {wanted}, not “{said.text}”")
    return value


def _is_same(value: Json, text: str) -> bool:
    return not isinstance(value, list | dict | None) and _loose(str(value)) == _loose(text)


def _loose(text: str) -> str:
    """In any spelling: `in transit`, `IN_TRANSIT`."""
    return re.sub(r"[\s_-]+", "", text).casefold()


def _known_id(kind: str, id: str, records: Mapping[str, Mapping[str, JsonObject]]) -> str:
    known = records.get(kind, {})
    if id not in known:
        raise refused(f"there is no {kind} {id}", f"for example {next(iter(known), 'none')}")
    return id


def kept_id(link: FieldOutline, id: str) -> Json:
    return int(id) if link.kind == "whole" and id.isdecimal() else id


def _typed(one: FieldOutline, said: Said, now: str) -> Json:
    if is_moment(one):
        return write_moment(one, _moment(one, said, now))
    if one.kind == "boolean":
        return _SWITCHES.get(said.text.lower(), said.text)
    if one.kind in ("whole", "number"):
        try:
            number = float(said.text.lstrip("$€£").replace(",", ""))
        except ValueError:
            return said.text
        return int(number) if number.is_integer() else number
    return said.text


def _moment(one: FieldOutline, said: Said, now: str) -> datetime:
    if said.days_ago is not None:
        return datetime.fromisoformat(now).replace(tzinfo=None) - timedelta(days=said.days_ago)
    found = moment_of(said.text)
    if found is None:
        hint = "such as 2026-03-01, or 40 days ago"
        raise refused(f"“{said.text}” is no day or time that {one.name} could hold", hint)
    return found.at.replace(tzinfo=None)
