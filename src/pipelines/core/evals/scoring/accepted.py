"""The expectation of a cell after people accepted its shift: what the agent did there."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.core.evals.scenarios.contract import Contract
from pipelines.core.evals.scenarios.scenario import CellExpectation, Scenario
from pipelines.core.evals.scoring.observed import Observed
from pipelines.core.evals.scoring.shift import shift, value_at
from pipelines.core.matchers.matching import Missing
from pipelines.core.text.json_text import Json, JsonObject, dumps


def accepted_behavior(contract: Contract, outputs: Sequence[Observed]) -> JsonObject | None:
    """The contract's fields as the most typical output has them; None where that output has no fields.

    A field that it leaves out must be left out. Typical is the output nearest to all others.
    """
    typical = typical_output(contract, outputs)
    if typical is None or typical.output_class != "object" or not isinstance(typical.value, dict):
        return None
    behavior: JsonObject = {}
    for leaf in contract.leaves:
        if not leaf.path:  # the expectation is one matcher over the whole answer
            return typical.value
        found = value_at(typical.value, leaf.path)
        _put(behavior, leaf.path, {"$exists": False} if isinstance(found, Missing) else found)
    return behavior


def typical_output(contract: Contract, outputs: Sequence[Observed]) -> Observed | None:
    """The medoid; of equals the first."""
    distinct: dict[bytes, tuple[Observed, int]] = {}
    for output in outputs:
        name = dumps([output.output_class, output.value])
        distinct[name] = (output, distinct[name][1] + 1 if name in distinct else 1)
    if not distinct:
        return None
    return min(
        (one for one, _ in distinct.values()),
        key=lambda one: sum(
            times * shift(contract, one, other).distance for other, times in distinct.values()
        ),
    )


def current_expectations(
    scenario: Scenario, accepted: Mapping[str, JsonObject]
) -> Mapping[str, CellExpectation]:
    """What is expected of a scenario's cells, with the shifts that people accepted, by variation.

    One that was accepted instead of something that the scenario no longer expects does not count: people
    looked at another contract.
    """
    cells = dict(scenario.variations)
    now = behavior_hash(scenario.expected_behavior)
    for variation, body in accepted.items():
        behavior = body.get("expected_behavior")
        if body.get("instead_of") == now and isinstance(behavior, dict):
            before = cells.get(variation, CellExpectation())
            cells[variation] = replace(before, expectation="directional", expected_behavior=behavior)
    return cells


def behavior_hash(expected_behavior: JsonObject) -> str:
    """Tells whether a scenario still expects what it did when a shift was accepted."""
    return hashlib.sha256(dumps(expected_behavior)).hexdigest()[:16]


def _put(behavior: JsonObject, path: Sequence[str], value: Json) -> None:
    at = behavior
    for part in path[:-1]:
        below = at.setdefault(part, {})
        assert isinstance(below, dict), "leaves of one expectation do not lie within one another"
        at = below
    at[path[-1]] = value
