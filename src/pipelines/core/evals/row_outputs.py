"""The outputs of one scenario: each distinct one kept once, each pair of them compared once.

Outputs are often equal, and a baseline is shared by all cells of its row. Distances are whole millionths.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import orjson

from pipelines.core.evals.contract import Contract
from pipelines.core.evals.leaf_distance import FLIPPED_TEXT, canonical, leaf_distance
from pipelines.core.evals.match_score import match_score
from pipelines.core.evals.observed import Observed
from pipelines.core.evals.resampling import MILLION, medoid, medoid_shares
from pipelines.core.evals.shift import Component, is_flipped, total_distance, value_at
from pipelines.core.evals.text_shift import text_distance, text_profile
from pipelines.core.matching import MISSING, Actual


class Apart(NamedTuple):
    """How far two outputs are apart."""

    distance: int  # millionths
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
        self._leaf_numbers: list[dict[bytes, int]] = [{} for _ in contract.leaves]
        self._leaf_apart: list[dict[tuple[int, int], tuple[float, bool]]] = [{} for _ in contract.leaves]
        self._apart: dict[tuple[int, int], Apart] = {}
        self._matched: dict[bytes, bool] = {}
        names = [leaf.path[0] for leaf in contract.leaves if len(leaf.path) == 1]
        self._flat_names = names if len(names) == len(contract.leaves) else None

    def add(self, observed: Observed) -> int:
        leaves: list[Actual] | None = None
        if observed.output_class == "object":
            leaves = self._leaves(observed)
            key: object = orjson.dumps(leaves, default=_no_value, option=orjson.OPT_SORT_KEYS)
        elif observed.output_class == "text":
            key = (observed.output_class, observed.value)
        else:
            key = observed.output_class
        number = self._numbers.get(key)
        return self._new(key, observed, leaves) if number is None else number

    def is_matched(self, observed: Observed) -> bool:
        """Whether an output matches, asked once for equal ones."""
        key = canonical([observed.output_class, observed.value])
        if key not in self._matched:
            self._matched[key] = match_score(self.contract, observed).matched
        return self._matched[key]

    def apart(self, a: int, b: int) -> Apart:
        if a == b:
            return Apart(0, False)
        pair = (a, b) if a < b else (b, a)
        found = self._apart.get(pair)
        if found is None:
            found = self._apart[pair] = self._compare(*pair)
        return found

    def sort_key(self, number: int) -> bytes:
        """Orders outputs by what they are, so that no number depends on the order of runs."""
        return self._keys[number]

    def example(self, number: int) -> Observed:
        return self._examples[number]

    def components(self, a: int, b: int) -> list[Component]:
        ours, theirs = self._leaf_ids[a], self._leaf_ids[b]
        if ours is None or theirs is None:
            return [self._class_component(a, b)]
        found = []
        for at, leaf in enumerate(self.contract.leaves):
            values = self._leaf_values[at]
            from_, to = values[ours[at]], values[theirs[at]]
            apart = leaf_distance(leaf, from_, to)
            found.append(
                Component(
                    path=leaf.pointer,
                    kind=apart.kind,
                    weight=leaf.weight,
                    distance=apart.distance,
                    from_=from_,
                    to=to,
                    is_decision=leaf.is_decision,
                )
            )
        return found

    def _class_component(self, a: int, b: int) -> Component:
        before, after = self._examples[a], self._examples[b]
        distance = self.apart(a, b).distance / MILLION
        if before.output_class == after.output_class == "text":
            return Component(
                path="/text", kind="text", weight=1.0, distance=distance, from_=before.value, to=after.value
            )
        return Component(
            path="",
            kind="class",
            weight=1.0,
            distance=distance,
            from_=before.output_class,
            to=after.output_class,
        )

    def _leaves(self, observed: Observed) -> list[Actual]:
        value = observed.value
        if self._flat_names is not None and isinstance(value, dict):
            get = value.get
            return [get(name, MISSING) for name in self._flat_names]
        return [value_at(value, leaf.path) for leaf in self.contract.leaves]

    def _new(self, key: object, observed: Observed, leaves: list[Actual] | None) -> int:
        number = self._numbers[key] = len(self._examples)
        self._examples.append(observed)
        self._keys.append(key if isinstance(key, bytes) else repr(key).encode("utf-8", "replace"))
        self._leaf_ids.append(None if leaves is None else self._interned(leaves))
        return number

    def _interned(self, leaves: list[Actual]) -> tuple[int, ...]:
        """Leaf values by number: most are seen again, and numbers compare quickly."""
        ids = []
        for numbers, values, leaf in zip(self._leaf_numbers, self._leaf_values, leaves, strict=True):
            key = orjson.dumps(leaf, default=_no_value, option=orjson.OPT_SORT_KEYS)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(values)
                values.append(leaf)
            ids.append(number)
        return tuple(ids)

    def _compare(self, a: int, b: int) -> Apart:
        ours, theirs = self._leaf_ids[a], self._leaf_ids[b]
        if ours is None or theirs is None:
            return self._compare_classes(self._examples[a], self._examples[b])
        weighed, is_flip = 0.0, False
        for at, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            if left != right:
                known = self._leaf_apart[at]
                pair = (left, right) if left < right else (right, left)
                found = known.get(pair)
                if found is None:
                    found = known[pair] = self._compare_leaf(at, *pair)
                weighed += found[0]
                is_flip = is_flip or found[1]
        return Apart(round(total_distance(weighed, is_flip) * MILLION), is_flip)

    def _compare_leaf(self, at: int, left: int, right: int) -> tuple[float, bool]:
        leaf, values = self.contract.leaves[at], self._leaf_values[at]
        apart = leaf_distance(leaf, values[left], values[right])
        self.uses_words = self.uses_words or apart.kind == "text"
        return leaf.weight * apart.distance, is_flipped(leaf, apart)

    def _compare_classes(self, left: Observed, right: Observed) -> Apart:
        if left.output_class == right.output_class == "text":
            self.uses_words = True
            apart = text_distance(text_profile(str(left.value)), text_profile(str(right.value))).total
            return Apart(round(apart * MILLION), apart >= FLIPPED_TEXT)
        return Apart(MILLION, True)  # classes that differ: equal ones are one output


class Baseline(NamedTuple):
    """What a row's cells are held against."""

    counts: Counter[int]  # how often each output was seen
    reference: int | None  # the medoid; None without a run
    noise_floor: float
    shares: dict[int, float]  # how often each is the medoid of baselines drawn anew
    agrees: bool  # all baselines decided alike
    errors: int

    @property
    def runs(self) -> int:
        return self.counts.total()


def baseline_of(outputs: RowOutputs, runs: Iterable[int], errors: int, *, seed: int) -> Baseline:
    counts = Counter(runs)
    if not counts:
        return Baseline(counts, None, 0.0, {}, True, errors)
    # The most frequent first: of two that are equally central it is the reference.
    kinds = sorted(counts, key=lambda each: (-counts[each], outputs.sort_key(each)))
    between = [[outputs.apart(a, b).distance for b in kinds] for a in kinds]
    weights = [counts[each] for each in kinds]
    reference = kinds[medoid(between, weights)]
    shares = medoid_shares(between, weights, seed=seed)
    return Baseline(
        counts=counts,
        reference=reference,
        noise_floor=_noise_floor(between, weights),
        shares={kinds[at]: share for at, share in shares.items()},
        agrees=not any(outputs.apart(reference, each).is_flip for each in kinds),
        errors=errors,
    )


def _noise_floor(between: Sequence[Sequence[int]], weights: Sequence[int]) -> float:
    """The mean distance of each baseline to the medoid of the others; 0 where there are no others."""
    total = sum(weights)
    if total < 2 or len(weights) == 1:
        return 0.0
    summed = 0
    for at, weight in enumerate(weights):
        others = [count - (kind == at) for kind, count in enumerate(weights)]
        summed += weight * between[at][medoid(between, others)]
    return summed / total / MILLION


def _no_value(_: object) -> orjson.Fragment:
    """What stands for a missing value in a key: no JSON, so that no answer of an agent is the same."""
    return orjson.Fragment(b"missing")
