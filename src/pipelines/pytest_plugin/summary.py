"""The outcomes of all marked tests of a session: printed below the failures, and as a file to compare."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipelines.core.results.gate import Tally
from pipelines.core.results.results import Case, SuiteResults, is_met, results_as_json
from pipelines.core.text.statistics import mean_pass_hat_k

ORDER = ("stable fail", "fail", "flaky", "undecided", "not run", "pass", "stable pass")
COLOURS = {"flaky": "yellow", "undecided": "yellow", "stable pass": "green", "pass": "green"}
MOST_NAMED = 50

Record = dict[str, Any]


def print_summary(terminal: Any, records: Sequence[Record]) -> None:
    terminal.section("odyssey")
    counts = Counter(record["outcome"] for record in records)
    text = ", ".join(f"{counts[word]} {word}" for word in reversed(ORDER) if counts[word])
    terminal.write_line(f"{len(records)} task{'s' if len(records) != 1 else ''}: {text}")
    for line in _rates(records):
        terminal.write_line(line)
    named = [r for r in records if r["outcome"] not in ("stable pass", "pass")]
    named.sort(key=lambda record: ORDER.index(record["outcome"]))
    for record in named[:MOST_NAMED]:
        runs = Tally(**record["runs"])
        colour = {COLOURS.get(record["outcome"], "red"): True}
        terminal.write(f"{record['outcome']:11} {runs.passed}/{runs.total}  ", **colour)
        reason = f"  ({record['pending_reason']})" if record["pending_reason"] else ""
        terminal.write_line(f"{record['test']}{reason}")
    if len(named) > MOST_NAMED:
        terminal.write_line(f"… and {len(named) - MOST_NAMED} more")


def _rates(records: Sequence[Record]) -> list[str]:
    """pass^k: how likely k runs of a task in a row all pass, over the tasks with at least k decided runs."""
    tallies = [Tally(**record["runs"]) for record in records]
    repeats = max((each.total for each in tallies), default=0)
    if repeats < 2:
        return ["One run each says nothing about flakiness: ask for repeats."]
    tasks = [(each.passed, each.passed + each.failed) for each in tallies]
    lines = []
    for k in sorted({1, repeats}):
        share = mean_pass_hat_k(tasks, k)
        lines += [f"pass^{k} {float(share):.0%}"] if share is not None else []
    return [", ".join(lines)] if lines else []


def as_report(records: Sequence[Record]) -> str:
    """In the form of `pipelines run --results`, a suite per test function."""
    suites: dict[str, list[Record]] = {}
    for record in records:
        suites.setdefault(record["suite"], []).append(record)
    found = [
        SuiteResults(name=name, agent="", exit_code=_code(cases), cases=tuple(map(_case, cases)))
        for name, cases in sorted(suites.items())
    ]
    return json.dumps(results_as_json(found), ensure_ascii=False, indent=2) + "\n"


def _case(record: Record) -> Case:
    runs = Tally(**record["runs"])
    return Case(
        key=record["key"],
        name=record["name"],
        runs=runs,
        is_met=is_met(runs, record["min_pass"]),
        outcome=record["outcome"],
        why=record["why"],
        pending_reason=record["pending_reason"],
    )


def _code(records: Sequence[Record]) -> int:
    met = [is_met(Tally(**record["runs"]), record["min_pass"]) for record in records]
    if any(each is False for each in met):
        return 1
    not_run = any(record["runs"]["not_run"] for record in records)
    return 3 if not_run else int(None in met)
