"""The contract of a scenario: the leaves of the expected behaviour, how each is compared, and its weight.

A contract is made from a checked scenario; `contract_problems` lists what is malformed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, cast

from pipelines.core.evals.scenarios.leaf_kind import KNOWN_SCALE, expected_kind
from pipelines.core.matchers.matching import Path, check_expectation, is_matcher, with_today
from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem
from pipelines.wire.records import Omitted, Record

LeafKind: TypeAlias = Literal["enum", "scale", "number", "text", "list", "ordered_list"]
MatchMode: TypeAlias = Literal["subset", "exact"]

#: Names of fields that are decisions where the author declares none.
DECISION_NAMES = frozenset(
    {"action", "decision", "outcome", "verdict", "recommendation", "classification", "tool", "skill"}
)
DECISION_SHARE = 0.6  # of the weight: a changed decision alone is red, all details together are not
MOST_LEAVES = 500  # of one expectation; a person reads far fewer


@dataclass(frozen=True, kw_only=True, slots=True)
class LeafRule(Record):
    """How one leaf is compared. What is left out is inferred from the values."""

    kind: Omitted[LeafKind | None] = None
    levels: Omitted[tuple[str, ...] | None] = None  # of a scale, low to high
    tolerance: Omitted[float] = 0.0  # absolute
    relative_tolerance: Omitted[float] = 0.0  # of the larger of the two
    weight: Omitted[float | None] = None  # within its share (decisions, details); 1 unless said


class ContractLeaf(NamedTuple):
    """One leaf of the expectation, ready to be compared."""

    path: Path
    pointer: str
    expected: Json
    rule: LeafRule
    kind: str | None  # as declared, or as the expectation shows; None: only values can tell
    is_decision: bool
    weight: float  # all leaves of a contract together weigh 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """What scoring needs of a scenario."""

    expected_behavior: JsonObject
    match_mode: MatchMode = "subset"
    prohibited: tuple[JsonObject, ...] = ()  # partial objects that must never hold
    decision_fields: tuple[str, ...] | None = None  # JSON Pointers, or names of top-level fields
    fields: Mapping[str, LeafRule] = field(default_factory=dict)  # by JSON Pointer
    #: Label to phrases or /patterns/: what turns a text into a decision.
    decision_labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decision_share: float = DECISION_SHARE
    today: str | None = None  # what `tomorrow` is told from; None: not known
    leaves: tuple[ContractLeaf, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "leaves", tuple(_weighted_leaves(self)))

    @property
    def asked(self) -> JsonObject:
        """The expected behaviour, with today's date wherever a day is asked for."""
        return cast(JsonObject, with_today(self.expected_behavior, self.today))

    @property
    def decision_field(self) -> str:
        """Where the decision goes that a text was turned into."""
        declared = self.decision_fields or ("decision",)
        return declared[0].removeprefix("/")


def expected_leaves(expected: Json, path: Path = ()) -> Iterator[tuple[Path, Json]]:
    """Literals, arrays and matchers of an expectation; an empty object is a leaf too."""
    if not isinstance(expected, dict) or not expected or is_matcher(expected):
        yield path, expected
        return
    for key, below in expected.items():
        yield from expected_leaves(below, (*path, key))


def contract_problems(contract: Contract) -> list[Problem]:
    """What is malformed in a contract; paths are those of the scenario's fields."""
    found = check_expectation(contract.expected_behavior, path="/expected_behavior")
    for at, forbidden in enumerate(contract.prohibited):
        found += check_expectation(forbidden, path=f"/prohibited/{at}")
    if len(contract.leaves) > MOST_LEAVES:
        message = f"has {len(contract.leaves):,} leaves; at most {MOST_LEAVES} are compared"
        found.append(Problem(path="/expected_behavior", message=message))
    return [*found, *_field_problems(contract), *_label_problems(contract)]


def _weighted_leaves(contract: Contract) -> Iterator[ContractLeaf]:
    found = [
        (path, expected, contract.fields.get(pointer(path), LeafRule()), _is_decision(contract, path))
        for path, expected in expected_leaves(contract.asked)
    ]
    totals = {True: 0.0, False: 0.0}
    for _, _, rule, is_decision in found:
        totals[is_decision] += _weight(rule)
    shares = {True: contract.decision_share, False: 1 - contract.decision_share}
    if not totals[True] or not totals[False]:
        shares = {True: 1.0, False: 1.0}  # with one kind only it takes all
    for path, expected, rule, is_decision in found:
        total = totals[is_decision]
        weight = shares[is_decision] * _weight(rule) / total if total else 0.0
        kind = rule.kind or ("scale" if rule.levels else expected_kind(expected))
        yield ContractLeaf(path, pointer(path), expected, rule, kind, is_decision, weight)


def _weight(rule: LeafRule) -> float:
    return 1.0 if rule.weight is None else rule.weight


def _is_decision(contract: Contract, path: Path) -> bool:
    """A declared field covers all below it, and so does a name that says decision."""
    if contract.decision_fields is None:
        return any(part.casefold() in DECISION_NAMES for part in path)
    place = pointer(path)
    declared = (name if name.startswith("/") else pointer([name]) for name in contract.decision_fields)
    return any(place == name or place.startswith(name + "/") for name in declared)


def _field_problems(contract: Contract) -> Iterator[Problem]:
    known = [leaf.pointer for leaf in contract.leaves]
    for place, rule in contract.fields.items():
        path = "/fields" + pointer([place])
        if place not in known:
            message = f"`{place}` is not a leaf of expected_behavior; there are {quote_names(known)}"
            yield Problem(path=path, message=message, hint=did_you_mean(place, known))
        if rule.kind == "scale" and len(rule.levels or KNOWN_SCALE) < 2:
            yield Problem(path=path + "/levels", message="a scale needs two or more levels, low to high")
        if min(rule.tolerance, rule.relative_tolerance, _weight(rule)) < 0:
            yield Problem(path=path, message="tolerances and weights must be 0 or more")
    for at, name in enumerate(contract.decision_fields or ()):
        if not contract.decision_labels and not any(
            leaf.is_decision for leaf in _leaves_named(contract, name)
        ):
            message = f"`{name}` is in no leaf of expected_behavior; there are {quote_names(known)}"
            yield Problem(
                path=f"/decision_fields/{at}", message=message, hint=did_you_mean(pointer([name]), known)
            )


def _leaves_named(contract: Contract, name: str) -> Iterator[ContractLeaf]:
    place = name if name.startswith("/") else pointer([name])
    for leaf in contract.leaves:
        if leaf.pointer == place or leaf.pointer.startswith(place + "/"):
            yield leaf


def _label_problems(contract: Contract) -> Iterator[Problem]:
    for label, phrases in contract.decision_labels.items():
        path = "/decision_labels" + pointer([label])
        if not phrases:
            yield Problem(path=path, message="a label needs at least one phrase or /pattern/")
        for at, phrase in enumerate(phrases):
            if not phrase.strip("/ "):
                yield Problem(path=f"{path}/{at}", message="an empty phrase would match every text")
            elif is_pattern(phrase):
                yield from check_expectation({"$regex": phrase[1:-1]}, path=f"{path}/{at}")


def is_pattern(phrase: str) -> bool:
    return len(phrase) > 2 and phrase.startswith("/") and phrase.endswith("/")
