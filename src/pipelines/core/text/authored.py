"""Parses a JSON object strictly, field by field.

Each reader records a problem and continues, so that one answer lists every problem.
A field that is null counts as not given.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeGuard

from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import MOST_SHOWN, Problem

MOST_QUOTED = 100  # names in one sentence: as many as a ledger schema has entity types
LONGEST_QUOTED = 200  # characters of a name there
MOST_HINTED = 50  # unknown fields of one object that are told what may have been meant


def nearest_names(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """The candidates a person may have meant, best first; letter case does not count against one."""
    spelled = {candidate: _loose(candidate) for candidate in candidates}
    close = difflib.get_close_matches(_loose(name[:200]), set(spelled.values()), n=most, cutoff=0.6)
    ranked = sorted((close.index(loose), candidate) for candidate, loose in spelled.items() if loose in close)
    return [candidate for _, candidate in ranked][:most]


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    near = nearest_names(name, candidates, most=1)
    return f"did you mean `{near[0]}`?" if near else None


def as_object(value: Json, path: str, problems: list[Problem], what: str) -> JsonObject | None:
    if isinstance(value, dict):
        return value
    problems.append(Problem(path=path, message=f"{what} must be a JSON object, not {kind(value)}"))
    return None


def as_list(value: Json, path: str, problems: list[Problem], what: str) -> list[Json] | None:
    if isinstance(value, list):
        return value
    problems.append(Problem(path=path, message=f"{what} must be a JSON array, not {kind(value)}"))
    return None


def is_id(value: Json) -> TypeGuard[int]:
    """An id of ours: a whole number that a database can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


def kind(value: Json) -> str:
    """What a value is, in the words of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"


def quote_names(names: Iterable[Json]) -> str:
    """`a`, `b` or `c`; of many only the first, since each of a thousand problems may list them."""
    listed = list(names)
    quoted_names = [f"`{str(name)[:LONGEST_QUOTED]}`" for name in listed[:MOST_QUOTED]]
    if len(listed) > MOST_QUOTED:
        return f"{', '.join(quoted_names)} or one of {len(listed) - MOST_QUOTED:,} others"
    return " or ".join(
        [", ".join(quoted_names[:-1]), quoted_names[-1]] if len(quoted_names) > 1 else quoted_names
    )


class Fields:
    """The fields of one object: what is read is returned, what is wrong is noted under its own path."""

    __slots__ = ("_places", "body", "path", "problems", "subject")

    def __init__(
        self,
        body: JsonObject,
        path: str,
        problems: list[Problem],
        *,
        subject: str = "",
        places: Mapping[str, str] | None = None,
    ) -> None:
        self.body = body
        self.path = path
        self.problems = problems
        self.subject = subject  # opens every message, as in "tool `get_order`: …"
        self._places = places or {}  # where a field stood, when it was written under another name

    def at(self, key: str) -> str:
        return self._places.get(key, self.path + pointer([key]))

    def get(self, key: str) -> Json:
        return self.body.get(key)

    def has(self, key: str) -> bool:
        return self.body.get(key) is not None

    def refuse(self, key: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(path=self.at(key), message=self.subject + message, hint=hint))

    def refuse_unknown(
        self, known: Collection[str], elsewhere: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """Each by its name; past what anybody is shown they are only counted. A hostile body has a quarter of
        a million of them, and who writes so many has not misspelled them: few get a hint. `elsewhere`: what
        to say of fields that are right in another place."""
        unknown = [key for key in self.body if key not in known]
        for at, key in enumerate(unknown[:MOST_SHOWN]):
            hint = elsewhere.get(key) or (_hint(key, known) if at < MOST_HINTED else None)
            self.refuse(key, f"unknown field `{key[:80]}`", hint)
        if len(unknown) > MOST_SHOWN:
            message = f"{self.subject}there are {len(unknown) - MOST_SHOWN:,} more unknown fields"
            self.problems.append(Problem(path=self.path, message=message))

    def require(self, key: str, hint: str | None = None) -> bool:
        if not self.has(key):
            self.refuse(key, f"`{key}` is missing", hint)
        return self.has(key)

    def text(self, key: str, *, longest: int | None = None, may_be_blank: bool = False) -> str | None:
        value = self.body.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.refuse(key, f"`{key}` must be a string, not {kind(value)}")
        elif not may_be_blank and not value.strip():
            self.refuse(key, f"`{key}` is empty")
        elif longest is not None and len(value) > longest:
            self.refuse(key, f"`{key}` has {len(value):,} characters; at most {longest:,} are allowed")
        elif "\0" in value:
            self.refuse(key, f"`{key}` contains a NUL character")
        else:
            return value
        return None

    def choice(
        self, key: str, options: Collection[str], default: str | None = None, *, any_case: bool = False
    ) -> str | None:
        value = self.body.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            value = value.strip().lower() if any_case else value
            if value in options:
                return value
        near = did_you_mean(value, options) if isinstance(value, str) else None
        quoted = f"`{value[:80]}`" if isinstance(value, str) else kind(value)
        self.refuse(key, f"`{key}` must be {quote_names(options)}, not {quoted}", near)
        return None

    def whole_number(self, key: str, default: int, *, least: int, most: int | None = None) -> int:
        value = self.body.get(key)
        if value is None:
            return default
        within = f"from {least} to {most}" if most is not None else f"of {least} or more"
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(key, f"`{key}` must be a whole number {within}, not {_value_or_kind(value)}")
        elif value < least or (most is not None and value > most):
            self.refuse(key, f"`{key}` must be a whole number {within}, not {value}")
        else:
            return value
        return default

    def id(self, key: str, what: str) -> int | None:
        """The id of `what`, such as "an agent"; refused also when it is missing."""
        value = self.body.get(key)
        if is_id(value):
            return value
        self.refuse(key, f"`{key}` must be the id of {what}")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of non-empty strings."""
        value = self.body.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.refuse(key, f"`{key}` must be an array of strings, not {kind(value)}")
            return ()
        good = []
        for index, item in enumerate(value):
            if isinstance(item, str) and item.strip() and "\0" not in item:
                good.append(item)
            else:
                found = "an empty string or one with a NUL" if isinstance(item, str) else kind(item)
                path = self.at(key) + pointer([index])
                message = f"{self.subject}`{key}` must hold non-empty strings, not {found}"
                self.problems.append(Problem(path=path, message=message))
        return tuple(good)


def _hint(key: str, known: Collection[str]) -> str:
    return did_you_mean(key, known) or f"known here: {quote_names(sorted(known))}"


def _loose(name: str) -> str:
    return name.casefold().replace("_", "").replace("-", "").replace(" ", "")


def _value_or_kind(value: Json) -> str:
    return str(value) if isinstance(value, float) else kind(value)
