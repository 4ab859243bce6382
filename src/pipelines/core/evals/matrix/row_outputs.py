"""The outputs of one scenario: each distinct one kept once, each pair of them compared once.

Outputs are often equal, and a baseline is shared by all cells of its row. Distances are whole millionths.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import mul, ne
from typing import NamedTuple

import orjson

from pipelines.core.evals.matrix.resampling import MILLION, medoid, medoid_draws
from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scoring.leaf_distance import FLIPPED_TEXT, leaf_distance
from pipelines.core.evals.scoring.match_score import match_score
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import Component, is_flipped, total_distance, value_at
from pipelines.core.evals.scoring.text_shift import text_distance, text_profile
from pipelines.core.matchers.matching import MISSING, Actual, CannotMatch, match
from pipelines.core.text.json_text import canonical_by_value

RARE = 0.05  # share of the draws whose references are left out of an interval: each costs a bootstrap
_SORTED = orjson.OPT_SORT_KEYS


class LeafDifference(NamedTuple):
    kind: str
    distance: float
    weighed: float
    is_flip: bool


class RowOutputs:
    """A growing set of distinct outputs, by number. What differs only outside the contract is one output."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.uses_words = False  # whether free texts were compared
        self._numbers: dict[object, int] = {}
        self._examples: list[Observed] = []
        self._keys: list[bytes] = []
        self._leaf_ids: list[tuple[int, ...] | None] = []
        self._leaf_values: list[list[Actual]] = [[] for _ in contract.leaves]
        self._leaf_numbers: list[dict[bytes | str, int]] = [{} for _ in contract.leaves]
        self._leaf_apart: list[dict[tuple[int, int], LeafDifference]] = [{} for _ in contract.leaves]
        self._distances: list[dict[int, int]] = []  # of each to others, in millionths
        self._exact: dict[tuple[int, int], float] = {}  # the same unrounded, for what is shown
        self._flips: set[tuple[int, int]] = set()
        self._matched: dict[bytes, bool] = {}
        self._is_subset = contract.match_mode == "subset" and not contract.prohibited
        self._leaf_holds: list[list[bool]] = [[] for _ in contract.leaves]  # of each value of a leaf
        self._holds: list[bool] = []  # of each output: all its leaves
        self._places = range(len(contract.leaves))
        names = [leaf.path[0] for leaf in contract.leaves if len(leaf.path) == 1]
        self._flat_names = names if len(names) == len(contract.leaves) else None

    def add(self, observed: Observed) -> int:
        leaves: list[Actual] | None = None
        if observed.output_class == "object":
            leaves = self._leaves(observed)
            key: object = orjson.dumps(leaves, default=_missing_key, option=_SORTED)
        elif observed.output_class == "text":
            key = (observed.output_class, observed.value)
        else:
            key = observed.output_class
        number = self._numbers.get(key)
        return self._new(key, observed, leaves) if number is None else number

    def is_matched(self, number: int, observed: Observed) -> bool:
        """Whether an output that was added as this number matches; asked once for equal ones."""
        if self._is_subset and self._leaf_ids[number] is not None:
            return self._holds[number]
        # What stands outside the leaves counts too.
        key = canonical_by_value([observed.output_class, observed.value])
        if key not in self._matched:
            self._matched[key] = match_score(self.contract, observed).matched
        return self._matched[key]

    def distances(self, a: int, others: Sequence[int]) -> list[int]:
        known = self._distances[a]
        return [known[b] if b in known else self._compare(a, b) for b in others]

    def exact_distance(self, a: int, b: int) -> float:
        """As `shift` has it; the whole numbers are for resampling."""
        if a == b:
            return 0.0
        self.distances(a, (b,))
        return self._exact[a, b]

    def is_flip(self, a: int, b: int) -> bool:
        """Whether the decision of one is not the other's."""
        self.distances(a, (b,))
        return (a, b) in self._flips

    def sort_key(self, number: int) -> bytes:
        """Orders outputs by what they are, so that no number depends on the order of runs."""
        return self._keys[number]

    def moved(self, reference: int, counts: Mapping[int, int]) -> list[Component]:
        """The leaves that differ from the reference: their mean distance over all, and the furthest."""
        if len(counts) == 1 and reference in counts:
            return []
        origin = self._leaf_ids[reference]
        others = sorted(counts, key=self.sort_key)
        total = sum(counts.values())
        classes = [each for each in others if origin is None or self._leaf_ids[each] is None]
        found = self._moved_classes(reference, classes, counts, total)
        if origin is None:
            return found
        leaves = [(self._leaf_ids[each] or (), counts[each]) for each in others if each not in classes]
        for at, from_ in enumerate(origin):
            summed, furthest, most = 0.0, from_, LeafDifference("", 0.0, 0.0, False)
            for ids, times in leaves:
                if ids[at] != from_:
                    apart = self._leaf(at, from_, ids[at])
                    summed += apart.distance * times
                    if apart.distance > most.distance:
                        furthest, most = ids[at], apart
            if summed:
                found.append(self._component(at, from_, furthest, most.kind, summed / total))
        return found

    def _component(self, at: int, from_: int, to: int, kind: str, distance: float) -> Component:
        leaf, values = self.contract.leaves[at], self._leaf_values[at]
        return Component(
            path=leaf.pointer,
            kind=kind,
            weight=leaf.weight,
            distance=distance,
            from_=values[from_],
            to=values[to],
            is_decision=leaf.is_decision,
        )

    def _moved_classes(
        self, reference: int, others: Sequence[int], counts: Mapping[int, int], total: int
    ) -> list[Component]:
        """What has no leaves to compare: texts, and outputs of another class."""
        apart = list(zip(self.distances(reference, others), others, strict=True))
        summed = sum(distance * counts[each] for distance, each in apart)
        if not summed:
            return []
        before, after = self._examples[reference], self._examples[max(apart)[1]]
        distance = summed / total / MILLION
        if before.output_class == after.output_class:
            return [
                Component(
                    path="/text",
                    kind="text",
                    weight=1.0,
                    distance=distance,
                    from_=before.value,
                    to=after.value,
                )
            ]
        classes = before.output_class, after.output_class
        return [
            Component(path="", kind="class", weight=1.0, distance=distance, from_=classes[0], to=classes[1])
        ]

    def _leaves(self, observed: Observed) -> list[Actual]:
        value = observed.value
        if self._flat_names is not None and isinstance(value, dict):
            get = value.get
            return [get(name, MISSING) for name in self._flat_names]
        return [value_at(value, leaf.path) for leaf in self.contract.leaves]

    def _new(self, key: object, observed: Observed, leaves: list[Actual] | None) -> int:
        number = self._numbers[key] = len(self._examples)
        self._examples.append(observed)
        self._distances.append({number: 0})
        self._keys.append(key if isinstance(key, bytes) else repr(key).encode("utf-8", "replace"))
        ids = None if leaves is None else self._interned(leaves)
        self._leaf_ids.append(ids)
        self._holds.append(
            ids is not None and all([holds[leaf] for holds, leaf in zip(self._leaf_holds, ids, strict=True)])  # noqa: C419
        )
        return number

    def _interned(self, leaves: list[Actual]) -> tuple[int, ...]:
        """Leaf values by number: most are seen again, and numbers compare quickly."""
        ids = []
        for at, (numbers, leaf) in enumerate(zip(self._leaf_numbers, leaves, strict=True)):
            key = leaf if type(leaf) is str else orjson.dumps(leaf, default=_missing_key, option=_SORTED)
            number = numbers.get(key)
            ids.append(self._new_leaf(at, key, leaf) if number is None else number)
        return tuple(ids)

    def _new_leaf(self, at: int, key: bytes | str, leaf: Actual) -> int:
        number = self._leaf_numbers[at][key] = len(self._leaf_values[at])
        self._leaf_values[at].append(leaf)
        try:
            holds = match(self.contract.leaves[at].expected, leaf).matched
        except CannotMatch:
            holds = False
        self._leaf_holds[at].append(holds)
        return number

    def _compare(self, a: int, b: int) -> int:
        ours, theirs = self._leaf_ids[a], self._leaf_ids[b]
        if ours is None or theirs is None:
            weighed, is_flip = self._compare_classes(self._examples[a], self._examples[b])
        else:
            weighed, is_flip = self._compare_leaves(ours, theirs)
        distance = round(weighed * MILLION)
        self._distances[a][b] = self._distances[b][a] = distance
        self._exact[a, b] = self._exact[b, a] = weighed
        if is_flip:
            self._flips |= {(a, b), (b, a)}
        return distance

    def _compare_leaves(self, ours: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[float, bool]:
        weighed, is_flip = 0.0, False
        for at in compress(self._places, map(ne, ours, theirs)):
            pair = ours[at], theirs[at]
            apart = self._leaf_apart[at].get(pair) or self._leaf(at, *pair)
            weighed += apart.weighed
            is_flip = is_flip or apart.is_flip
        return total_distance(weighed, is_flip, floor=self.contract.decision_share), is_flip

    def _leaf(self, at: int, left: int, right: int) -> LeafDifference:
        known = self._leaf_apart[at]
        found = known.get((left, right))
        if found is None:
            leaf, values = self.contract.leaves[at], self._leaf_values[at]
            apart = leaf_distance(leaf, values[left], values[right])
            self.uses_words = self.uses_words or apart.kind == "text"
            weighed = apart.distance * leaf.weight
            found = LeafDifference(apart.kind, apart.distance, weighed, is_flipped(leaf, apart))
            known[left, right] = known[right, left] = found
        return found

    def _compare_classes(self, left: Observed, right: Observed) -> tuple[float, bool]:
        if left.output_class == right.output_class == "text":
            self.uses_words = True
            apart = text_distance(text_profile(str(left.value)), text_profile(str(right.value))).total
            return apart, apart >= FLIPPED_TEXT
        return 1.0, True  # classes that differ: equal ones are one output


class Baseline(NamedTuple):
    """What a row's cells are held against."""

    counts: Counter[int]  # how often each output was seen
    kinds: list[int]  # the different ones, the most frequent first
    between: list[list[int]]  # their distances, in that order
    reference: int | None  # the medoid; None without a run
    noise_floor: float
    references: dict[int, int]  # how often each is the medoid when the baselines are drawn anew
    agrees: bool  # all baselines decided alike
    errors: int

    @property
    def runs(self) -> int:
        return self.counts.total()


def baseline_of(outputs: RowOutputs, runs: Iterable[int], errors: int, *, seed: int) -> Baseline:
    counts = Counter(runs)
    if not counts:
        return Baseline(counts, [], [], None, 0.0, {}, True, errors)
    # The most frequent first: of two that are equally central it is the reference.
    kinds = sorted(counts, key=lambda each: (-counts[each], outputs.sort_key(each)))
    between = [outputs.distances(each, kinds) for each in kinds]
    weights = [counts[each] for each in kinds]
    reference = kinds[medoid(between, weights)]
    drawn = medoid_draws(between, weights, seed=seed)
    return Baseline(
        counts=counts,
        kinds=kinds,
        between=between,
        reference=reference,
        noise_floor=_noise_floor(between, weights),
        references={kinds[at]: times for at, times in _likely_references(drawn).items()},
        agrees=not any(outputs.is_flip(reference, each) for each in kinds),
        errors=errors,
    )


def _noise_floor(between: Sequence[Sequence[int]], weights: Sequence[int]) -> float:
    """The mean distance of each baseline to the medoid of the others; 0 where there are no others."""
    if len(weights) == 1:
        return 0.0
    totals = [sum(map(mul, row, weights)) for row in between]
    summed = 0
    for at, weight in enumerate(weights):
        others = [
            (total - row[at], kind)
            for kind, (total, row) in enumerate(zip(totals, between, strict=True))
            if weight > 1 or kind != at
        ]
        summed += weight * between[at][min(others)[1]]
    return summed / sum(weights) / MILLION


def _likely_references(drawn: Mapping[int, int]) -> dict[int, int]:
    """The references without the rarest, which together make up less than RARE of the draws."""
    remaining = RARE * sum(drawn.values())
    kept = dict(drawn)
    for at, times in sorted(drawn.items(), key=lambda each: (each[1], -each[0])):
        remaining -= times
        if remaining < 0:
            break
        del kept[at]
    return kept


def _missing_key(_: object) -> orjson.Fragment:
    """What stands for a missing value in a key: no JSON, so that no answer of an agent is the same."""
    return orjson.Fragment(b"missing")
