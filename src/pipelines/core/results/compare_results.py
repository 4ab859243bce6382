"""Compares two rounds of suites, case by case: what flipped, what is new, what was not run.

A flip is a case whose gate was met and is not, or the other way round. Between repeats of a flaky task that
is all there is to say: 4 of 5 and 3 of 5 under `min_pass: 3` are the same. What could not be run or decided
on one side is no flip, and is told as such.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.core.results.results import Case, SuiteResults
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.statistics import exact_mcnemar
from pipelines.core.verdict.pending_words import PENDING_WORDS

#: A comment with this line is ours: it is changed, and no second one is written.
MARK = "<!-- odyssey results -->"
MOST_ROWS = 50  # of each kind: past this nobody reads a comment
LONGEST_WHY = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    suite: str
    name: str
    before: Case
    after: Case

    def as_json(self) -> JsonObject:
        before, after = _side(self.before), _side(self.after)
        body: JsonObject = {"suite": self.suite, "key": self.after.key, "name": self.name}
        return body | {"before": before, "after": after, "why": self.after.why}


def _side(case: Case) -> JsonObject:
    return {"outcome": case.outcome, "met": case.is_met, "pending_reason": case.pending_reason}


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultsComparison:
    regressed: tuple[Change, ...]
    fixed: tuple[Change, ...]
    newly_flaky: tuple[Change, ...]  # the gate still holds: no flip
    unknown: tuple[Change, ...]  # not run or not decided on one side
    compared: int
    added: tuple[str, ...]  # names of cases that only the new round has
    removed: tuple[str, ...]

    @property
    def has_flipped(self) -> bool:
        return bool(self.regressed or self.fixed)

    def as_json(self) -> JsonObject:
        changes = {"regressed": self.regressed, "fixed": self.fixed, "newly_flaky": self.newly_flaky}
        body: JsonObject = {kind: _as_json(found) for kind, found in changes.items()}
        p = exact_mcnemar(len(self.regressed), len(self.fixed)) if self.has_flipped else None
        return body | {
            "unknown": _as_json(self.unknown),
            "compared": self.compared,
            "p": p,
            "added": list(self.added),
            "removed": list(self.removed),
        }


def _as_json(changes: Sequence[Change]) -> list[Json]:
    return [change.as_json() for change in changes]


def compare_results(before: Sequence[SuiteResults], after: Sequence[SuiteResults]) -> ResultsComparison:
    """Cases belong together by their suite's name and their own key."""
    old, new = dict(_cases_by_key(before)), dict(_cases_by_key(after))
    pairs = [
        Change(suite=key[0], name=new[key].name, before=old[key], after=new[key]) for key in new if key in old
    ]
    known = [pair for pair in pairs if pair.before.is_met is not None and pair.after.is_met is not None]
    return ResultsComparison(
        regressed=tuple(pair for pair in known if pair.before.is_met and not pair.after.is_met),
        fixed=tuple(pair for pair in known if pair.after.is_met and not pair.before.is_met),
        newly_flaky=tuple(
            pair
            for pair in known
            if pair.before.is_met
            and pair.after.is_met
            and pair.after.outcome == "flaky"
            and pair.before.outcome != "flaky"
        ),
        unknown=tuple(pair for pair in pairs if pair not in known),
        compared=len(known),
        added=tuple(_case_name(key[0], case) for key, case in new.items() if key not in old),
        removed=tuple(_case_name(key[0], case) for key, case in old.items() if key not in new),
    )


def _cases_by_key(suites: Sequence[SuiteResults]) -> Iterator[tuple[tuple[str, str], Case]]:
    for suite in suites:
        for case in suite.cases:
            yield (suite.name, case.key), case


def _case_name(suite: str, case: Case) -> str:
    return f"{suite}: {case.name or case.key}"


# -- for people


def format_markdown(found: ResultsComparison) -> str:
    """A comment for a pull request. Its first line marks it as ours."""
    lines = [MARK, f"### Agent tests: {headline(found)}", ""]
    for title, changes in (("Regressed", found.regressed), ("Fixed", found.fixed)):
        lines += _table(title, changes)
    lines += _table("Newly flaky (the gate is still met)", found.newly_flaky)
    lines += _table("Not compared (not run, or not decided)", found.unknown)
    lines += _to_do(found.unknown)
    for word, names in (("new", found.added), ("gone", found.removed)):
        lines += [f"{len(names)} {word}."] if names else []
    return "\n".join(lines).rstrip() + "\n"


def headline(found: ResultsComparison) -> str:
    if not found.has_flipped:
        return f"nothing flipped ({found.compared} compared)"
    parts = [f"{len(found.regressed)} regressed", f"{len(found.fixed)} fixed"]
    p = exact_mcnemar(len(found.regressed), len(found.fixed))
    return f"{', '.join(parts)} of {found.compared} compared (exact McNemar p = {p:.2g})"


def _table(title: str, changes: Sequence[Change]) -> list[str]:
    if not changes:
        return []
    lines = [f"**{title}**", "", "| suite | task | before | now | why |", "|---|---|---|---|---|"]
    for change in changes[:MOST_ROWS]:
        cells = (
            change.suite,
            change.name,
            outcome_text(change.before),
            outcome_text(change.after),
            change.after.why,
        )
        lines.append("| " + " | ".join(map(escape_cell, cells)) + " |")
    if len(changes) > MOST_ROWS:
        lines.append(f"\n… and {len(changes) - MOST_ROWS} more")
    return [*lines, ""]


def _to_do(changes: Sequence[Change]) -> list[str]:
    """What decides those that are pending now, once for each reason; of a file's own word nothing is told."""
    reasons = {change.after.pending_reason for change in changes}
    known = [reason for reason in PENDING_WORDS if reason in reasons]
    lines = [f"- `{reason}`: {PENDING_WORDS[reason].says} {PENDING_WORDS[reason].to_do}" for reason in known]
    return [*lines, ""] if lines else []


def outcome_text(case: Case) -> str:
    """`flaky, 3/5`, or `undecided (no_oracle)`"""
    outcome = f"{case.outcome} ({case.pending_reason})" if case.pending_reason else case.outcome
    return f"{outcome}, {case.runs.passed}/{case.runs.total}" if case.runs.total > 1 else outcome


def escape_cell(text: str) -> str:
    """Foreign words inside a table: one line, and neither markup nor a mention of anybody."""
    line = " ".join(text.split())
    cut = line if len(line) <= LONGEST_WHY else f"{line[: LONGEST_WHY - 1]}…"
    for special, entity in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;"), ("@", "&#64;"), ("`", "&#96;")):
        cut = cut.replace(special, entity)
    for special in "*_[]!":
        cut = cut.replace(special, f"\\{special}")
    return cut
