"""The state oracle: assertions on the final ledger by path, and nothing else changed.

    {"order.4521.status": "refunded", "refund.<new>": {"amount": {"$lte": 80}}, "allow": ["audit_log"]}

A top-level key is a path: parts between dots, or a JSON Pointer (`/user/a.b@c.de/tier`) where a part has dots
of its own. Objects below it go on with the path, key by key, down to literals and matchers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipelines.core.matchers.matching import MISSING, Path, check_expectation, is_matcher, leaves
from pipelines.core.oracles.paths import FLAGS, NEW, parse_path, path_text
from pipelines.core.text.authored import as_object, kind
from pipelines.core.text.json_text import Json, pointer
from pipelines.core.text.problems import Problem, Refused

CHECK = "expected_state"
MAX_ASSERTIONS = 500
_SHAPE = 'for example {"order.4521.status": "refunded"}, or {"unchanged": true}'


@dataclass(frozen=True, kw_only=True, slots=True)
class Assertion:
    path: Path
    expected: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class NewEntities:
    """Exactly these entities of a type are added, under whatever ids."""

    entity_type: str
    expected: tuple[Json, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedState:
    assertions: tuple[Assertion, ...] = ()
    unchanged: tuple[Path, ...] = ()
    new: tuple[NewEntities, ...] = ()
    allow: tuple[Path, ...] = ()  # may change although nothing is asserted; `*` is any part


# Reading what an author wrote


def parse_expected_state(body: Json, *, path: str = "/expected_state") -> ExpectedState:
    """Parse the oracle, or raise Refused with all its problems."""
    problems: list[Problem] = []
    state = read_expected_state(body, path=path, problems=problems)
    if problems:
        raise Refused(problems, CHECK)
    return state


def read_expected_state(body: Json, *, path: str, problems: list[Problem]) -> ExpectedState:
    """The valid parts; problems of the others are added to `problems`."""
    whole = as_object(body, path, problems, f"`{CHECK}`") or {}
    reader = _Reader(problems)
    asserting = [key for key in whole if key != "allow"]
    if not asserting and isinstance(body, dict):
        problems.append(Problem(path=path, message=f"`{CHECK}` has no assertions", hint=_SHAPE))
    for key in asserting:
        place = path + pointer([key])
        if key == "unchanged":
            reader.take_unchanged(whole[key], (), place)
        elif (parts := reader.path(key, place)) is not None:
            reader.take(whole[key], parts, place)
    allow = reader.allowed(whole["allow"], path + "/allow") if "allow" in whole else ()
    if len(reader.assertions) > MAX_ASSERTIONS:
        message = f"there are {len(reader.assertions):,} assertions; at most {MAX_ASSERTIONS:,} are allowed"
        problems.append(Problem(path=path, message=message))
    return ExpectedState(
        assertions=tuple(reader.assertions),
        unchanged=tuple(reader.unchanged),
        new=tuple(reader.new),
        allow=allow,
    )


@dataclass(kw_only=False, slots=True)
class _Reader:
    problems: list[Problem]
    assertions: list[Assertion] = field(default_factory=list)
    unchanged: list[Path] = field(default_factory=list)
    new: list[NewEntities] = field(default_factory=list)

    def refuse(self, place: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(path=place, message=message, hint=hint))

    def path(self, text: str, place: str) -> Path | None:
        parts = parse_path(text)
        if parts is None:
            self.refuse(
                place, f"`{text}` is not a valid path: a part of it is empty", "such as `order.4521.status`"
            )
        return parts

    def take(self, value: Json, path: Path, place: str) -> None:
        if NEW in path[1:]:
            self.take_new(value, path, place)
        elif isinstance(value, dict) and value.keys() == {"unchanged"}:
            self.take_unchanged(value["unchanged"], path, place)
        elif isinstance(value, dict) and value and not is_matcher(value):
            for key, below in value.items():
                self.take(below, (*path, key), place + pointer([key]))
        else:
            self.take_leaf(value, path, place)

    def take_unchanged(self, value: Json, path: Path, place: str) -> None:
        if value is not True:
            self.refuse(place, "`unchanged` can only be true", "assert what it changes to instead")
        self.unchanged.append(path)

    def take_leaf(self, value: Json, path: Path, place: str) -> None:
        self.problems.extend(check_expectation(value, path=place))
        if any(known.path == path for known in self.assertions):
            self.refuse(place, f"`{path_text(path)}` is asserted twice")
        complaint = _leaf_complaint(value, path)
        if complaint is not None:
            self.refuse(place, complaint)
        self.assertions.append(Assertion(path=path, expected=value))

    def take_new(self, value: Json, path: Path, place: str) -> None:
        if len(path) != 2 or path[1] != NEW:
            self.refuse(place, f"`{NEW}` must be in the place of an id", f"such as `refund.{NEW}`")
            return
        if isinstance(value, dict) and value.keys() == {"$exists"}:
            values: list[Json] = [{}] if value["$exists"] else []
        else:
            values = value if isinstance(value, list) else [value]
        for item in values:
            if not isinstance(item, dict):
                self.refuse(place, f"a new entity is described by an object, not {kind(item)}")
            self.problems.extend(check_expectation(item, path=place))
        self.new.append(NewEntities(entity_type=path[0], expected=tuple(values[:MAX_ASSERTIONS])))

    def allowed(self, body: Json, place: str) -> tuple[Path, ...]:
        if not isinstance(body, list):
            self.refuse(place, f"`allow` must be an array of paths, not {kind(body)}", '["audit_log"]')
            return ()
        found: list[Path] = []
        for index, item in enumerate(body):
            here = f"{place}/{index}"
            if not isinstance(item, str):
                self.refuse(here, f"`allow` holds paths, not {kind(item)}", "such as `order.*.updated_at`")
            elif (parts := self.path(item, here)) is not None:
                found.append(parts)
        return tuple(found)


def _leaf_complaint(value: Json, path: Path) -> str | None:
    if path[0] == FLAGS and len(path) == 2:
        return None  # also an entity type of that name: the world decides
    if len(path) == 1 and not is_matcher(value):
        return f"`{path[0]}` is an entity type; assert on its entities, as in `{path[0]}.<id>.<field>`"
    if len(path) == 2 and not isinstance(value, dict):
        return f"`{path_text(path)}` is an entity; assert on a field of it, as in `{path_text(path)}.<field>`"
    return None


def assertion_paths(expected: ExpectedState) -> Iterator[tuple[Path, Json]]:
    """Every asserted path with its expectation, those of new entities included: for lint."""
    yield from ((assertion.path, assertion.expected) for assertion in expected.assertions)
    for new in expected.new:
        for expected_entity in new.expected:
            if isinstance(expected_entity, dict) and expected_entity:
                for leaf in leaves(expected_entity, MISSING):
                    yield (new.entity_type, NEW, *leaf.path), leaf.expected
