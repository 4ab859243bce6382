"""The state oracle: checks assertions and additions, and finds every change that the task does not allow."""

from collections.abc import Iterator

from pipelines.core.ledger.ledger import Ledger, SetFlag
from pipelines.core.matchers.matching import MISSING, Actual, Path, assign, is_matcher, leaves, matches
from pipelines.core.oracles.expected_state import CHECK, Assertion, ExpectedState, NewEntities
from pipelines.core.oracles.paths import ANY, FLAGS, path_text
from pipelines.core.oracles.wording import calls_text, expectation_text, format_value, join_words
from pipelines.core.text.json_text import Json
from pipelines.core.verdict.changes import Change, changes, is_about_flags, value_at
from pipelines.core.verdict.evidence import RunEvidence
from pipelines.core.verdict.verdict import FailureMode, Finding, PendingReason, broken, held, left_open

COLLATERAL = "collateral"
COMPLETION = "completion"  # of a task: the outcome in which things may change
MOST_CHANGES = 20  # listed one by one: a run that changed thousands has one cause


def evaluate_expected_state(expected: ExpectedState, evidence: RunEvidence) -> list[Finding]:
    """A finding for each assertion, and one for each change that the task does not allow."""
    changed = changes(evidence)
    found = [_assertion(assertion, evidence, changed) for assertion in expected.assertions]
    found += [_unchanged(path, evidence, changed) for path in expected.unchanged if path]
    for new in expected.new:
        found.extend(_new_entities(new, expected, changed))
    noted = kept_arguments(changed, evidence)
    return found + _collateral(expected, [each for each in changed if each not in noted], noted)


def without_state(expected: ExpectedState | None, evidence: RunEvidence) -> list[Finding]:
    """For a recording without state: findings that depend on state are open. On a task in which nothing may
    change, so is a call that may have changed something."""
    may_write = evidence.expected_outcome not in (None, COMPLETION) and evidence.writes
    if expected is None and not may_write:
        return []
    says = "The recording has no state, so it is not known what the run changed in its world."
    rows = [row.sequence for row in evidence.writes]
    return [left_open(CHECK, PendingReason.NO_RECORDED_STATE, says, rows)]


def is_vacuous(expected: ExpectedState, evidence: RunEvidence) -> bool:
    """Whether an agent that does nothing would meet this oracle, so that meeting it proves nothing."""
    before = Ledger(evidence.world)
    is_met = all(matches(a.expected, _actual(a, before)) for a in expected.assertions)
    return is_met and not any(new.expected for new in expected.new)


def _actual(assertion: Assertion, ledger: Ledger) -> Actual:
    value = value_at(ledger, assertion.path)
    is_flag = assertion.path[0] == FLAGS and is_about_flags(ledger)
    if value is MISSING and is_flag and not is_matcher(assertion.expected):
        return False  # a flag that was never set counts as cleared
    return value


def _assertion(assertion: Assertion, evidence: RunEvidence, made: list[Change]) -> Finding:
    where = path_text(assertion.path)
    before, actual = _actual(assertion, Ledger(evidence.world)), _actual(assertion, evidence.after)
    touching = [change for change in made if _related(assertion.path, change.path)]
    rows = [row.sequence for change in touching for row in change.rows]
    if matches(assertion.expected, actual):
        return held(CHECK, f"{where} {_is_text(assertion.expected, actual)}, as expected.", rows)
    expectation = f"{where} should {expectation_text(assertion.expected)}"
    if touching:
        by = calls_text([row for change in touching[:1] for row in change.rows])
        says = (
            f"{expectation}, but "
            f"{'is missing since' if actual is MISSING else f'became {format_value(actual)} in'} {by}."
        )
        return broken(CHECK, FailureMode.WRONG_ACTION, says, rows)
    still = (
        "is missing"
        if actual is MISSING
        else f"is {'still ' if before == actual else ''}{format_value(actual)}"
    )
    return broken(CHECK, FailureMode.INCOMPLETE, f"{expectation}, but {still}.", rows)


def _is_text(expected: Json, actual: Actual) -> str:
    if isinstance(expected, dict) and "$exists" in expected:
        return "exists" if expected["$exists"] else "does not exist"
    return f"is {format_value(actual)}"


def _unchanged(path: Path, evidence: RunEvidence, made: list[Change]) -> Finding:
    where = path_text(path)
    if path[0] == FLAGS and is_about_flags(evidence.after):
        return _unchanged_flags(path, evidence)
    hits = [change for change in made if _related(path, change.path)]
    if not hits:
        return held(CHECK, f"{where} is unchanged, as expected.")
    listed = join_words([change.describe() for change in hits])
    rows = [row.sequence for change in hits for row in change.rows]
    return broken(CHECK, FailureMode.WRONG_ACTION, f"{where} should stay as it was, but {listed}.", rows)


def _unchanged_flags(path: Path, evidence: RunEvidence) -> Finding:
    before, after = set(evidence.world.flags), set(evidence.after.flags())
    differing = sorted(before ^ after) if len(path) == 1 else sorted((before ^ after) & {path[1]})
    if not differing:
        return held(CHECK, f"{path_text(path)} is unchanged, as expected.")
    listed = join_words([f"{flag} was {'set' if flag in after else 'cleared'}" for flag in differing])
    rows = [
        row.sequence
        for row in evidence.calls
        for u in row.updates
        if isinstance(u, SetFlag) and u.flag in differing
    ]
    says = f"{path_text(path)} should stay as it was, but {listed}."
    return broken(CHECK, FailureMode.WRONG_ACTION, says, rows)


def _new_entities(new: NewEntities, expected: ExpectedState, made: list[Change]) -> Iterator[Finding]:
    named = {assertion.path[:2] for assertion in expected.assertions}
    added = [c for c in made if c.is_added_entity and c.path[0] == new.entity_type and c.path not in named]
    chosen = assign(
        [
            [at for at, change in enumerate(added) if matches(expected_entity, change.after)]
            for expected_entity in new.expected
        ]
    )
    spare = [
        change for at, change in enumerate(added) if at not in chosen and not _is_allowed(change, expected)
    ]
    for expected_entity, at in zip(new.expected, chosen, strict=True):
        if at is not None:
            yield held(CHECK, f"{path_text(added[at].path)} was added, as expected.", _rows(added[at]))
        elif spare:
            near = min(spare, key=lambda change: _mismatch_count(expected_entity, change))
            spare.remove(near)
            yield _unlike_finding(near, expected_entity)
        else:
            fields = _fields_text(expected_entity)
            says = f"A new {new.entity_type}{fields} should have been added, but none was."
            yield broken(CHECK, FailureMode.INCOMPLETE, says)
    for change in spare:
        says = f"{change.describe()}, which is more than the {len(new.expected)} expected."
        yield broken(CHECK, FailureMode.WRONG_ACTION, says, _rows(change))
    if not new.expected and not spare:
        yield held(CHECK, f"No {new.entity_type} was added, as expected.")


def _mismatch_count(wanted: Json, change: Change) -> int:
    return sum(not leaf.holds for leaf in leaves(wanted, change.after))


def _unlike_finding(near: Change, wanted: Json) -> Finding:
    missed = [leaf for leaf in leaves(wanted, near.after) if not leaf.holds]
    wrong = join_words(
        [
            f"{path_text(x.path)} should {expectation_text(x.expected)} but is {format_value(x.actual)}"
            for x in missed
        ]
    )
    says = f"{near.describe()}, but not as expected: {wrong}."
    return broken(CHECK, FailureMode.WRONG_ACTION, says, _rows(near))


def _rows(change: Change) -> list[int]:
    return [row.sequence for row in change.rows]


def _fields_text(wanted: Json) -> str:
    return f" with {format_value(wanted)}" if wanted else ""


def kept_arguments(made: list[Change], evidence: RunEvidence) -> list[Change]:
    """Changes that only store an argument, such as the `reason` of a cancelled order in a world whose orders
    have none: the plan found no better use for the argument. If the call changed nothing else, it counts.
    """
    planned = {tool.name for tool in evidence.tools if tool.simulation is not None}
    new = [change for change in made if _is_argument_kept(change, evidence, planned)]
    deeds = {row.sequence for change in made if change not in new for row in change.rows}
    return [change for change in new if all(row.sequence in deeds for row in change.rows)]


def _is_argument_kept(change: Change, evidence: RunEvidence, planned: set[str]) -> bool:
    if len(change.path) != 3 or change.before is not MISSING or change.after is MISSING:
        return False
    entity_type, _, name = change.path
    seeded = evidence.world.entities.get(entity_type, {}).values()
    if any(name in attributes for attributes in seeded):
        return False
    return all(
        row.tool not in planned and isinstance(row.arguments, dict) and change.after in row.arguments.values()
        for row in change.rows
    )


def _collateral(expected: ExpectedState, made: list[Change], noted: list[Change]) -> list[Finding]:
    """Changes outside the asserted paths: each is a failure, whatever else the run achieved."""
    damage = [change for change in made if not _is_accounted_for(change, expected)]
    if not damage:
        says = "Nothing else in the world changed." if made else "Nothing in the world changed."
        if noted:
            says += (
                " Not counted, because the call only stored an argument: "
                f"{join_words([c.describe() for c in noted])}."
            )
        return [held(COLLATERAL, says)]
    found = [
        broken(
            COLLATERAL, FailureMode.WRONG_ACTION, f"{c.describe()}, which the task does not allow.", _rows(c)
        )
        for c in damage[:MOST_CHANGES]
    ]
    rest = damage[MOST_CHANGES:]
    if rest:
        rows = [sequence for change in rest for sequence in _rows(change)]
        says = f"{len(rest):,} more values changed, which the task does not allow."
        found.append(broken(COLLATERAL, FailureMode.WRONG_ACTION, says, rows))
    return found


def _is_accounted_for(change: Change, expected: ExpectedState) -> bool:
    """Asserted, reported under `unchanged` or `<new>` already, or allowed."""
    named = [assertion.path for assertion in expected.assertions] + [
        path for path in expected.unchanged if path
    ]
    if any(_related(path, change.path) for path in named) or _is_allowed(change, expected):
        return True
    return change.is_added_entity and any(new.entity_type == change.path[0] for new in expected.new)


def _is_allowed(change: Change, expected: ExpectedState) -> bool:
    return any(
        len(allowed) <= len(change.path)
        and all(part in (ANY, given) for part, given in zip(allowed, change.path, strict=False))
        for allowed in expected.allow
    )


def _related(named: Path, changed: Path) -> bool:
    """Whether one path contains the other: an assertion on a field also covers an entity that is added
    whole."""
    shorter = min(len(named), len(changed))
    return named[:shorter] == changed[:shorter]
