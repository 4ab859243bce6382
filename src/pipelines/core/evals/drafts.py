"""Scenarios that telemetry suggests: what an agent did again and again, where it chose, and what was rare.

They say what the agent did, not what it should do, and are never adopted without a person. A draft is named
by its content (skill, shape of input, expected behaviour), so that a second look finds the same ones.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal, NamedTuple, TypeAlias

import orjson

from pipelines.core.evals.skill_uses import (
    Fields,
    Flag,
    Interned,
    Leaf,
    Path,
    Shape,
    Use,
    as_object,
    by_shape,
    constant_fields,
    is_masked,
    leaf_as_json,
    shape_as_json,
    telling_paths,
)
from pipelines.core.json_text import Json, JsonObject, dumps, loads_own
from pipelines.core.statistics import wilson

Kind: TypeAlias = Literal["recurring", "decision_point", "edge_case"]
KINDS: tuple[Kind, ...] = ("recurring", "decision_point", "edge_case")
LEAST_SPANS = 3  # of a pattern: fewer recur by chance
LEAST_SHARE = 0.8  # of its modal outcome, where it is recurring
LEAST_OPTION = 0.2  # share of an outcome that counts as an option
RAREST = 0.05  # share of a skill's uses in which its rarest inputs stand
RISK_LEVEL = "medium"  # what a skill is worth cannot be read from a span
MOST_SOURCES = 20  # spans named with a draft
MOST_OUTCOMES = 5  # shown of a decision
LARGEST_INPUT = 64 * 1024  # bytes, as of any scenario
LONGEST_NAME = 200

#: What an outcome is compared by: the fields that tell outcomes apart, with their values.
OutcomeKey: TypeAlias = tuple[tuple[Path, Leaf], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    id: str
    kind: Kind
    skill: str
    confidence: float  # Wilson lower bound (95 %) of the share of the modal outcome
    k: int  # successful uses with that outcome
    n: int  # successful uses that say their outcome
    uses: int  # of this shape, failed ones too
    errors: int
    shape: JsonObject
    outcomes: tuple[tuple[JsonObject, int], ...]
    sources: tuple[tuple[str, str], ...]
    scenario: JsonObject
    notes: tuple[str, ...]

    def as_json(self) -> JsonObject:
        sources: list[Json] = [{"trace_id": trace, "span_id": span} for trace, span in self.sources]
        outcomes: list[Json] = [
            {"outcome": outcome, "count": count, "share": round(count / self.n, 4)}
            for outcome, count in self.outcomes
        ]
        return {
            "id": self.id,
            "kind": self.kind,
            "skill": self.skill,
            "name": self.scenario["name"],
            "confidence": self.confidence,
            "support": {"k": self.k, "n": self.n},
            "uses": self.uses,
            "errors": self.errors,
            "shape": self.shape,
            "outcomes": outcomes,
            "source_spans": sources,
            "source_span_count": self.k,
            "scenario": self.scenario,
            "notes": list(self.notes),
        }


class Looked:
    """What a look at telemetry went through, and why it left something out."""

    def __init__(self) -> None:
        self.spans = self.without_input = self.without_outcome = 0
        self.skills = self.shapes = self.without_constant_field = self.too_large = self.known = 0

    def as_json(self) -> JsonObject:
        return {
            "spans": self.spans,
            "skills": self.skills,
            "input_shapes": self.shapes,
            "left_out": {
                "spans_without_input": self.without_input,
                "spans_without_outcome": self.without_outcome,
                "shapes_without_a_constant_outcome_field": self.without_constant_field,
                "shapes_with_too_large_an_input": self.too_large,
                "decided_before": self.known,
            },
        }


def draft_parts(data: bytes, *, most: int, without: frozenset[str]) -> Iterator[bytes]:
    """The best drafts of some lines of spans, without those that a person decided on; then what was seen.

    A line is `[skill, status, trace_id, span_id, input, outcome]`.
    """
    looked = Looked()
    drafts = drafts_of(data.splitlines(), looked)
    fresh = [draft for draft in drafts if draft.id not in without]
    looked.known = len(drafts) - len(fresh)
    for draft in best_of(fresh, most):
        yield dumps(draft.as_json())
    yield dumps(looked.as_json() | {"found": len(fresh)})


def best_of(drafts: Sequence[Draft], most: int) -> list[Draft]:
    """By turns of each kind, the surest first: what recurs would otherwise leave no room for the rest."""
    ranked = [
        sorted((d for d in drafts if d.kind == kind), key=lambda d: (-d.confidence, -d.n, d.id))
        for kind in KINDS
    ]
    turns = chain.from_iterable(zip_longest(*ranked))
    return [draft for draft in turns if draft is not None][:most]


def drafts_of(lines: Sequence[bytes], looked: Looked) -> list[Draft]:
    by_skill: dict[str, list[Use]] = {}
    interned = Interned()
    for line in lines:
        looked.spans += 1
        skill, status, trace_id, span_id, told, outcome = loads_own(line)  # type: ignore[misc, str-unpack]
        if told is None:
            looked.without_input += 1
            continue
        is_error = status == "error"
        looked.without_outcome += outcome is None and not is_error
        known: Fields | None = None
        if outcome is not None and not is_error:
            known = interned.fields(outcome, "result")
        use = Use(interned.fields(told, "input"), known, is_error, (str(trace_id), str(span_id)))
        by_skill.setdefault(str(skill), []).append(use)
    looked.skills = len(by_skill)
    found: dict[str, Draft] = {}
    for skill in sorted(by_skill):
        for draft in _drafts_of_skill(skill, by_skill.pop(skill), looked):
            found.setdefault(draft.id, draft)
    return list(found.values())


def _drafts_of_skill(skill: str, uses: list[Use], looked: Looked) -> Iterator[Draft]:
    telling = telling_paths(uses)
    clusters = by_shape(uses)
    looked.shapes += len(clusters)
    rarest = _rarest(clusters, len(uses))
    for shape, some in clusters.items():
        cluster = _Cluster.of(skill, shape, some, telling)
        kind = cluster.kind(is_rare=len(some) <= rarest) if cluster is not None else None
        if cluster is None or kind is None:
            continue
        expected = cluster.expected(telling)
        input_context = cluster.input_context()
        if not expected:
            looked.without_constant_field += 1
        elif len(dumps(input_context)) > LARGEST_INPUT:
            looked.too_large += 1
        else:
            yield _draft(cluster, kind, expected, input_context, total=len(uses))


def _rarest(clusters: dict[Shape, list[Use]], total: int) -> int:
    """Inputs with so many uses or fewer are the rarest: together they stand in no more than RAREST of all.
    Inputs that are equally frequent are rare together or not at all."""
    counts = Counter(len(some) for some in clusters.values())
    most = together = 0
    for size in sorted(counts):
        together += size * counts[size]
        if together > RAREST * total:
            break
        most = size
    return most


class _Cluster(NamedTuple):
    """Uses of one skill with inputs of one shape, by how they ended."""

    skill: str
    shape: Shape
    uses: list[Use]
    outcomes: list[tuple[OutcomeKey, list[Use]]]  # of those that ended well and say how; the commonest first

    @classmethod
    def of(cls, skill: str, shape: Shape, uses: list[Use], telling: frozenset[Path]) -> "_Cluster | None":
        ended: dict[OutcomeKey, list[Use]] = {}
        for use in uses:
            if use.outcome is not None:
                pairs = zip(use.outcome.paths, use.outcome.values, strict=True)
                ended.setdefault(tuple(pair for pair in pairs if pair[0] in telling), []).append(use)
        ranked = sorted(ended.items(), key=lambda item: (-len(item[1]), repr(item[0])))
        return cls(skill, shape, uses, ranked) if ranked else None

    @property
    def k(self) -> int:
        return len(self.outcomes[0][1])

    @property
    def n(self) -> int:
        return sum(len(uses) for _, uses in self.outcomes)

    def kind(self, *, is_rare: bool) -> Kind | None:
        if is_rare:
            return "edge_case"
        if self.n < LEAST_SPANS:
            return None
        if self.k >= LEAST_SHARE * self.n:
            return "recurring"
        options = sum(len(uses) >= LEAST_OPTION * self.n for _, uses in self.outcomes)
        return "decision_point" if options >= 2 else None

    def expected(self, telling: frozenset[Path]) -> JsonObject:
        """What all uses with the modal outcome have in common. A value that tells nothing apart is taken for
        constant only where it was seen often enough; what was masked, an agent cannot answer."""
        common = constant_fields(self.outcomes[0][1])
        return as_object(
            (path, leaf)
            for path, leaf in common.items()
            if (path in telling or self.k >= LEAST_SPANS)
            and not is_masked(leaf)
            and not any(part.startswith("$") for part in path)  # would be read as a matcher
        )

    def input_context(self) -> JsonObject:
        """The commonest input with the modal outcome."""
        counts = Counter(use.input for use in self.outcomes[0][1])
        fields = max(counts, key=counts.__getitem__)
        return as_object(zip(fields.paths, fields.values, strict=True))


def _draft(
    cluster: _Cluster, kind: Kind, expected: JsonObject, input_context: JsonObject, *, total: int
) -> Draft:
    shape = shape_as_json(cluster.shape)
    content = orjson.dumps([cluster.skill, shape, expected], option=orjson.OPT_SORT_KEYS)
    errors = sum(use.is_error for use in cluster.uses)
    scenario: JsonObject = {
        "name": _name(cluster),
        "description": _description(cluster, kind, total),
        "risk_level": RISK_LEVEL,
        "input_context": input_context,
        "expected_behavior": expected,
        "tags": ["from_telemetry", kind],
    }
    return Draft(
        id=f"drf_{hashlib.sha256(content).hexdigest()[:24]}",
        kind=kind,
        skill=cluster.skill,
        confidence=round(wilson(cluster.k, cluster.n).low, 4),
        k=cluster.k,
        n=cluster.n,
        uses=len(cluster.uses),
        errors=errors,
        shape=shape,
        outcomes=tuple((as_object(key), len(uses)) for key, uses in cluster.outcomes[:MOST_OUTCOMES]),
        sources=tuple(use.ids for use in cluster.outcomes[0][1][:MOST_SOURCES]),
        scenario=scenario,
        notes=_notes(cluster, input_context, errors),
    )


def _name(cluster: _Cluster) -> str:
    known = [(p, m) for p, m in zip(*cluster.shape, strict=True) if not isinstance(m, type) and m is not None]
    ended = [pair for pair in cluster.outcomes[0][0] if not is_masked(pair[1])]
    given = ", ".join(f"{path[-1]} {_shown(leaf)}" for path, leaf in known[:3])
    then = ", ".join(f"{path[-1]} {_shown(leaf)}" for path, leaf in ended[:2])
    return f"{cluster.skill}: {given or 'any input'} → {then or 'its usual outcome'}"[:LONGEST_NAME]


def _shown(leaf: Leaf) -> str:
    if isinstance(leaf, Flag):
        return "true" if leaf.is_true else "false"
    return str(leaf_as_json(leaf))[:40]


def _description(cluster: _Cluster, kind: Kind, total: int) -> str:
    k, n, uses = cluster.k, cluster.n, len(cluster.uses)
    if kind == "recurring":
        told = f"{uses} uses of {cluster.skill} had this kind of input; {k} of {n} that ended well ended so."
    elif kind == "decision_point":
        counts = " and ".join(str(len(some)) for _, some in cluster.outcomes[:MOST_OUTCOMES])
        told = (
            f"On this kind of input {cluster.skill} ended in different ways ({counts} uses): the commonest."
        )
    else:
        told = f"A rare kind of input: {uses} of {total} uses of {cluster.skill}, and it ended well."
    return f"{told} This is what the agent did, not necessarily what it should do."


def _notes(cluster: _Cluster, input_context: JsonObject, errors: int) -> tuple[str, ...]:
    notes = [f"risk_level is not known from telemetry: {RISK_LEVEL} until a person decides"]
    if errors:
        notes.append(f"{errors} of {len(cluster.uses)} uses with this kind of input failed")
    if is_masked(dumps(input_context)):
        notes.append("input_context has values that were masked: put others in their place")
    return tuple(notes)
