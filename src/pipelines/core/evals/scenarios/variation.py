"""Variations: text added to a task as pressure, to see whether the agent still does the right thing.

They are data: the built-in ones are in builtin_variations.yaml and are parsed like users' own.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

from pipelines.core.evals.scenarios.sizes import json_problem
from pipelines.core.matchers.matching import check_expectation
from pipelines.core.text.authored import Fields, as_object, did_you_mean, kind, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields
from pipelines.core.text.yaml_text import read_yaml

INTENSITIES = (1, 2, 3)
DEFAULT_INTENSITY = 2
PLACEBO = "neutral_control"

MOST_WORDINGS = 50  # of one intensity
LONGEST_WORDING = 20_000
LONGEST_NAME = 255
LONGEST_TESTS = 2_000
MOST_VERSION = 2**31 - 1
LARGEST_FILE = 1 << 20

#: What a wording may leave open, and what stands there in the end.
PLACEHOLDERS: Mapping[str, str] = {
    "decision": "the scenario's decision fields, by name",
    "option_a": "that option A is the other course than the agent's own, where the scenario names no options",
    "option_b": "that option B is the other course than the agent's own, where the scenario names no options",
    "noise": "about ten times the scenario's input, made from it and about other cases",
}
_PLACEHOLDER = re.compile(r"\{\{\s*([^{}]{0,80}?)\s*\}\}")
_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
_ID_RULE = "lower-case letters, digits and _, a letter first, at most 64 characters"


@dataclass(frozen=True, kw_only=True, slots=True)
class Variation:
    """One kind of pressure, in several wordings at up to three intensities."""

    id: str
    version: int = 1
    name: str
    tests: str  # what it tests, such as "Urgency bias"
    #: By intensity: the wordings of intensity 1 first. An intensity without wordings cannot be asked for.
    wordings: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    direction: str = ""  # where it pushes, in words
    #: A partial output that the pressure asks for, where there is one whatever the scenario.
    pushes_toward: JsonObject | None = None
    is_placebo: bool = False
    is_builtin: bool = False

    @property
    def intensities(self) -> tuple[int, ...]:
        return tuple(each for each in INTENSITIES if self.wordings[each - 1])

    def at(self, intensity: int) -> tuple[str, ...]:
        """The wordings of an intensity; raises ValueError where there are none."""
        if intensity not in self.intensities:
            there = quote_names(self.intensities)
            raise ValueError(f"`{self.id}` has no wordings of intensity {intensity}; there are {there}")
        return self.wordings[intensity - 1]

    def as_json(self) -> JsonObject:
        """What an author writes, complete; `is_builtin` is for us to say."""
        body: JsonObject = {
            "id": self.id,
            "version": self.version,
            "name": self.name,
            "tests": self.tests,
            "direction": self.direction,
            "pushes_toward": self.pushes_toward,
            "is_placebo": self.is_placebo,
            "wordings": {str(each): list(self.wordings[each - 1]) for each in self.intensities},
        }
        optional = ("direction", "pushes_toward", "is_placebo")
        return {key: value for key, value in body.items() if key not in optional or value}

    def as_shown(self) -> JsonObject:
        """With the hash of each wording, for lists and reports."""
        hashes: JsonObject = {
            str(each): [text_hash(text) for text in self.wordings[each - 1]] for each in self.intensities
        }
        return self.as_json() | {"wording_hashes": hashes, "is_builtin": self.is_builtin}

    @classmethod
    def from_stored(cls, body: JsonObject) -> "Variation":
        """From what `as_json` wrote, with or without `is_builtin`."""
        wordings = body["wordings"]
        assert isinstance(wordings, dict)
        by_intensity = tuple(tuple(wordings.get(str(each)) or ()) for each in INTENSITIES)  # type: ignore[arg-type]
        return cls(**{**known_fields(cls, body), "wordings": by_intensity})


def text_hash(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def placeholders(text: str) -> tuple[str, ...]:
    """What a wording leaves open, in the order in which it does."""
    return tuple(_PLACEHOLDER.findall(text))


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """The wording with each placeholder replaced; what stands in a value is not read again."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], text)


def read_variation(
    body: Json, *, path: str = "", reserved: Collection[str] | None = None, is_builtin: bool = False
) -> Variation:
    """A variation, or Refused with everything wrong with it. `reserved` ids may not be used; by default those
    of the built-in variations."""
    problems: list[Problem] = []
    read = as_object(body, path, problems, "a variation")
    if read is None:
        raise Refused(problems, "the variation")
    fields = Fields(read, path, problems)
    fields.refuse_unknown(_FIELDS)
    for key in ("id", "name", "tests", "wordings"):
        fields.require(key, _HINTS[key])
    variation = Variation(
        id=_read_id(fields, BUILTIN if reserved is None else reserved),
        version=fields.whole_number("version", 1, least=1, most=MOST_VERSION),
        name=fields.text("name", longest=LONGEST_NAME) or "",
        tests=fields.text("tests", longest=LONGEST_TESTS) or "",
        wordings=_read_wordings(fields),
        direction=fields.text("direction", longest=LONGEST_TESTS, may_be_blank=True) or "",
        pushes_toward=read_target(fields, "pushes_toward"),
        is_placebo=_read_flag(fields, "is_placebo"),
        is_builtin=is_builtin,
    )
    if problems:
        raise Refused(problems, "the variation")
    return variation


_FIELDS = (
    "id",
    "version",
    "name",
    "tests",
    "direction",
    "pushes_toward",
    "is_placebo",
    "wordings",
)
_HINTS = {
    "id": "such as budget_pressure",
    "name": "such as Budget pressure",
    "tests": "what it tests, such as Thrift over safety",
    "wordings": 'an array of texts, or {"1": […], "2": […], "3": […]} by intensity',
}


def read_target(fields: Fields, key: str) -> JsonObject | None:
    """A partial output; null and {} say nothing."""
    if not fields.has(key):
        return None
    target = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`")
    problem = json_problem(target, fields.at(key), f"`{key}`")
    if problem is not None:
        fields.problems.append(problem)
        return None
    fields.problems += check_expectation(target, path=fields.at(key))
    return target or None


def _read_id(fields: Fields, reserved: Collection[str]) -> str:
    id = fields.text("id")
    if id is None:
        return ""
    if _ID.fullmatch(id) is None:
        fields.refuse("id", f"`{id[:80]}` is not a valid variation id", _ID_RULE)
    elif id in reserved:
        fields.refuse("id", f"`{id}` is a built-in variation", "choose another id")
    return id


def _read_flag(fields: Fields, key: str) -> bool:
    value = fields.get(key)
    if value is not None and not isinstance(value, bool):
        fields.refuse(key, f"`{key}` must be true or false, not {kind(value)}")
    return value is True


def _read_wordings(fields: Fields) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """By intensity; an array says that the intensity makes no difference."""
    value, at = fields.get("wordings"), fields.at("wordings")
    if isinstance(value, list):
        same = _read_texts(fields, value, at)
        return (same, same, same)
    if not isinstance(value, dict):
        if value is not None:
            fields.refuse("wordings", f"`wordings` must be {_HINTS['wordings']}, not {kind(value)}")
        return ((), (), ())
    known = [str(each) for each in INTENSITIES]
    Fields(value, at, fields.problems).refuse_unknown(known)
    if not any(each in value for each in known):
        fields.refuse("wordings", "`wordings` has no texts", _HINTS["wordings"])
    one, two, three = (
        _read_texts(fields, value[each], at + pointer([each])) if each in value else () for each in known
    )
    return (one, two, three)


def _read_texts(fields: Fields, value: Json, at: str) -> tuple[str, ...]:
    problems = fields.problems
    if not isinstance(value, list) or not value or len(value) > MOST_WORDINGS:
        found = f"{len(value):,} of them" if isinstance(value, list) else kind(value)
        message = f"wordings must be an array of 1 to {MOST_WORDINGS} strings, not {found}"
        problems.append(Problem(path=at, message=message))
        return ()
    for index, text in enumerate(value):
        problem = _text_problem(text, at + pointer([index]))
        if problem is not None:
            problems.append(problem)
    texts = [text for text in value if isinstance(text, str)]
    for text in {text for text in texts if texts.count(text) > 1}:
        problems.append(Problem(path=at, message=f"the wording `{text[:80]}` is listed twice"))
    return tuple(texts)


def _text_problem(text: Json, path: str) -> Problem | None:
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        found = "an empty one or one with a NUL" if isinstance(text, str) else kind(text)
        return Problem(path=path, message=f"a wording must be a string, not {found}")
    if len(text) > LONGEST_WORDING:
        message = f"the wording has {len(text):,} characters; at most {LONGEST_WORDING:,} are allowed"
        return Problem(path=path, message=message)
    for name in placeholders(text):
        if name not in PLACEHOLDERS:
            known = quote_names("{{" + each + "}}" for each in PLACEHOLDERS)
            hint = did_you_mean(name, PLACEHOLDERS) or f"there are {known}"
            return Problem(path=path, message=f"there is no placeholder `{{{{{name}}}}}`", hint=hint)
    return json_problem(text, path, "the wording")


def _read_builtin() -> Mapping[str, Variation]:
    text = files(__package__).joinpath("builtin_variations.yaml").read_text(encoding="utf-8")
    bodies = read_yaml(text, what="variation", most_bytes=LARGEST_FILE).value
    assert isinstance(bodies, dict)
    read = [
        read_variation({"id": id, **body}, path=pointer([id]), reserved=(), is_builtin=True)  # type: ignore[dict-item]
        for id, body in bodies.items()
    ]
    return MappingProxyType({variation.id: variation for variation in read})


#: The seven types of pressure and the placebo, by id, in the order in which reports show them.
BUILTIN: Mapping[str, Variation] = _read_builtin()
