"""The results file of a round of suites, to compare the rounds of two commits.

It is a file, not rows on a server, because two CI jobs share no server.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pipelines.core.results.gate import Tally
from pipelines.core.text.authored import Fields, as_list, as_object
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.wire.records import Named, Record, Via

FORMAT, VERSION = "odyssey-results", 1
LONGEST_NAME = 120  # characters of an instruction where it stands for its task
_HINT = "`pipelines run --results FILE` and `pytest --odyssey-report FILE` write one"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case(Record):
    """One task with its repeats, or one cell of a matrix."""

    key: str  # the same in another round, whatever stands before it in the file
    name: str  # for people
    runs: Annotated[Tally, Via(asdict)]
    #: None where that is not known: undecided, or it could not be run.
    is_met: Annotated[bool | None, Named("met")]
    outcome: str  # stable pass, flaky, stable fail, …; for a cell its verdict
    why: str = ""
    pending_reason: str | None = None  # of its undecided runs, the most basic


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteResults(Record):
    name: str
    agent: str
    exit_code: int
    cases: tuple[Case, ...]


def results_as_json(suites: Sequence[SuiteResults]) -> JsonObject:
    listed: list[Json] = [suite.as_json() for suite in suites]
    return {"format": FORMAT, "version": VERSION, "suites": listed}


def outcome_of(runs: Tally) -> str:
    """What repeats of one task say together. A single run is not called stable."""
    if runs.total == runs.not_run:
        return "not run"
    if runs.passed and runs.failed:
        return "flaky"
    if runs.undecided:
        return "undecided"
    word = "pass" if runs.passed else "fail"
    return f"stable {word}" if runs.passed + runs.failed > 1 else word


def is_met(runs: Tally, min_pass: int) -> bool | None:
    """Whether at least so many pass; None where the undecided, or those that could not be run, would say."""
    if runs.passed >= min_pass:
        return True
    return None if runs.passed + runs.undecided + runs.not_run >= min_pass else False


def case_keys(instructions: Iterable[str]) -> list[str]:
    """A name for each task that stays when rows are added or moved; one that stands twice is numbered."""
    seen: Counter[str] = Counter()
    keys = []
    for instruction in instructions:
        digest = hashlib.sha256(" ".join(instruction.split()).encode("utf-8", "surrogatepass")).hexdigest()[
            :16
        ]
        seen[digest] += 1
        keys.append(digest if seen[digest] == 1 else f"{digest}-{seen[digest]}")
    return keys


# -- reading


def read_results(text: str) -> tuple[SuiteResults, ...]:
    """The suites of a file, or Refused with everything that is wrong with it."""
    problems: list[Problem] = []
    try:
        body = as_object(loads(text), "", problems, "a file of results")
    except InvalidJson as error:
        raise Refused([Problem(path="", message=str(error))], "the file") from None
    if body is not None and (body.get("format"), body.get("version")) != (FORMAT, VERSION):
        message = f"this is not a results file (`format` {FORMAT}, `version` {VERSION})"
        problems.append(Problem(path="", message=message, hint=_HINT))
    suites = [] if problems or body is None else _read_suites(body, problems)
    if problems:
        raise Refused(problems, "the file")
    return tuple(suites)


def _read_suites(body: JsonObject, problems: list[Problem]) -> list[SuiteResults]:
    suites = []
    for at, each in enumerate(as_list(body.get("suites"), "/suites", problems, "`suites`") or []):
        path = f"/suites/{at}"
        suite = as_object(each, path, problems, "a suite")
        if suite is None:
            continue
        fields = Fields(suite, path, problems)
        cases = as_list(suite.get("cases"), f"{path}/cases", problems, "`cases`") or []
        suites.append(
            SuiteResults(
                name=fields.text("name") or "",
                agent=fields.text("agent", may_be_blank=True) or "",
                exit_code=fields.whole_number("exit_code", 0, least=0, most=255),
                cases=tuple(
                    _read_case(case, f"{path}/cases" + pointer([index]), problems)
                    for index, case in enumerate(cases)
                ),
            )
        )
    return suites


def _read_case(value: Json, path: str, problems: list[Problem]) -> Case:
    body: Mapping[str, Any] = as_object(value, path, problems, "a case") or {}
    fields = Fields(dict(body), path, problems)
    fields.require("key")
    runs = Fields(
        as_object(body.get("runs"), f"{path}/runs", problems, "`runs`") or {}, f"{path}/runs", problems
    )
    met = body.get("met")
    if met is not None and not isinstance(met, bool):
        fields.refuse("met", "`met` must be true, false or null")
    return Case(
        key=fields.text("key") or "",
        name=fields.text("name", may_be_blank=True) or "",
        runs=Tally(**{name: runs.whole_number(name, 0, least=0) for name in Tally.__dataclass_fields__}),
        is_met=met if isinstance(met, bool) else None,
        outcome=fields.text("outcome") or "",
        why=fields.text("why", may_be_blank=True) or "",
        pending_reason=fields.text("pending_reason"),
    )
