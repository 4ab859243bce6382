"""The call oracle: checks required calls, their order, and forbidden calls."""

from pipelines.core.matchers.matching import Leaf, assign, leaves, matches
from pipelines.core.oracles.expected_calls import CHECK, ExpectedCall, ExpectedCalls
from pipelines.core.oracles.paths import path_text
from pipelines.core.oracles.trace import EvidenceRow
from pipelines.core.oracles.wording import calls_text, expectation_text, format_value, join_words, times
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import FailureMode, Finding, broken, held


def evaluate_expected_calls(expected: ExpectedCalls, evidence: RunEvidence) -> list[Finding]:
    """A finding for each required or forbidden call, and one for the order."""
    rows = evidence.calls
    single = [call for call in expected.must if call.count is None]
    # Two required calls need two calls in the trace, even if one call matches both.
    chosen = assign([[at for at, row in enumerate(rows) if call.covers(row)] for call in single])
    own = {id(call): at for call, at in zip(single, chosen, strict=True)}
    found = []
    for call in expected.must:
        if call.count is not None:
            found.append(_count_finding(call, rows))
        else:
            at = own[id(call)]
            found.append(_missing_finding(call, rows) if at is None else _called_finding(call, rows[at]))
    if expected.in_order and not any(finding.failure_mode for finding in found):
        found.append(_order_finding(expected.must, rows))
    return found + [_forbidden_finding(call, rows) for call in expected.must_not]


def is_vacuous(expected: ExpectedCalls) -> bool:
    """Whether an agent that calls nothing would meet this oracle."""
    return all(call.count is not None and matches(call.count, 0) for call in expected.must)


def _called_finding(call: ExpectedCall, row: EvidenceRow) -> Finding:
    return held(CHECK, f"{call.describe()} was called, as expected, in call {row.sequence}.", [row.sequence])


def _missing_finding(call: ExpectedCall, rows: tuple[EvidenceRow, ...]) -> Finding:
    named = [row for row in rows if call.names(row)]
    sequences = [row.sequence for row in named]
    if not named:
        says = f"{call.describe()} should have been called, but was not."
        return broken(CHECK, FailureMode.INCOMPLETE, says)
    worked = [row for row in named if row.succeeded or not call.only_successful]
    if not worked:
        says = f"{call.describe()} should have been called, but {calls_text(named)} did not succeed."
        return broken(CHECK, FailureMode.INCOMPLETE, says, sequences)
    if any(call.covers(row) for row in worked):
        says = f"{call.describe()} should have been called more often than it was."
        return broken(CHECK, FailureMode.INCOMPLETE, says, sequences)
    says = f"{call.describe()} should have been called, but {_nearest_call(call, worked)}."
    return broken(CHECK, FailureMode.WRONG_ACTION, says, sequences)


def _nearest_call(call: ExpectedCall, rows: list[EvidenceRow]) -> str:
    """How the nearest call differs from the expected one."""

    def missed(row: EvidenceRow) -> list[Leaf]:
        return [leaf for leaf in leaves(call.arguments, row.arguments) if not leaf.holds]

    near = min(rows, key=lambda row: len(missed(row)))
    wrong = [
        f"{path_text(x.path)} should {expectation_text(x.expected)} but is {format_value(x.actual)}"
        for x in missed(near)
    ]
    return f"in call {near.sequence} {join_words(wrong)}"


def _count_finding(call: ExpectedCall, rows: tuple[EvidenceRow, ...]) -> Finding:
    hits = [row.sequence for row in rows if call.covers(row)]
    if matches(call.count, len(hits)):
        return held(CHECK, f"{call.describe()} was called {times(len(hits))}, as expected.", hits)
    expectation = (
        f"exactly {times(call.count)}"
        if isinstance(call.count, int)
        else expectation_text(call.count)[3:] + " times"
    )
    says = f"{call.describe()} should have been called {expectation}, but was called {times(len(hits))}."
    least = call.count.get("$gte", 0) if isinstance(call.count, dict) else call.count
    is_short = isinstance(least, (int, float)) and len(hits) < least
    mode = FailureMode.INCOMPLETE if is_short else FailureMode.WRONG_ACTION
    return broken(CHECK, mode, says, hits)


def _order_finding(must: tuple[ExpectedCall, ...], rows: tuple[EvidenceRow, ...]) -> Finding:
    """Whether the trace has the calls in this order: match each as early as possible after the one before."""
    at = -1
    before = ""
    for call in (call for call in must if any(map(call.covers, rows))):
        later = [index for index, row in enumerate(rows) if index > at and call.covers(row)]
        if not later:
            sequences = [row.sequence for row in rows if any(one.covers(row) for one in must)]
            says = f"The calls came in another order than expected: {call.describe()} should follow {before}."
            return broken(CHECK, FailureMode.WRONG_ACTION, says, sequences)
        at, before = later[0], call.describe()
    return held(CHECK, "The calls came in the expected order.")


def _forbidden_finding(call: ExpectedCall, rows: tuple[EvidenceRow, ...]) -> Finding:
    hits = [row for row in rows if call.covers(row)]
    if not hits:
        return held(CHECK, f"{call.describe()} was not called, as expected.")
    says = f"{call.describe()} must not be called, but was in {calls_text(hits)}."
    return broken(CHECK, FailureMode.WRONG_ACTION, says, [row.sequence for row in hits])
