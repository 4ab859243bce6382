"""Prints the results of a batch: failures first, each with its instruction; a summary of large batches."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Console

from pipelines.cli.output.blocks import COLOURS, one_line, print_block, print_title, shortened
from pipelines.cli.output.exchange_report import cost_lines
from pipelines.cli.output.phrases import plural
from pipelines.cli.output.usage import usage_lines
from pipelines.cli.output.verdict_text import cause_in_words, cause_of, to_do_lines
from pipelines.core.verdict.error_words import error_in_words

MOST_BLOCKS = 12  # of runs that did not pass; the others are counted, and listed by `ls`
MOST_PASSED = 12  # lines of runs that passed; of more they are counted
MOST_WARNINGS = 10
MOST_K = 4  # of pass^k: the first and the last, where tasks were repeated often
MOST_RUNS_NAMED = 5
MOST_CHANGES = 50  # of verdicts
LONGEST_INSTRUCTION = 160
LONGEST_REASON = 600
LONGEST_BUILD = 100
_ORDER = ("FAIL", "ERROR", "NOT_APPLICABLE", "PENDING", "PASS")  # anything else stands with what did not run


def print_batch(console: Console, batch: Any, runs: list[Any]) -> None:
    print_title(console, _batch_title(batch, runs))
    repeated = batch["repeats"] > 1
    alike = _group_alike(runs)
    groups = _by_label([some[0] for some in alike.values()])
    passed = groups.pop("PASS", [])
    others = [run for label in groups for run in groups[label]]
    blocks = others if len(others) <= MOST_BLOCKS else _examples(groups)
    for run in blocks:
        print_run(console, run, repeated=repeated, alike=alike[run["id"]])
    for line in _omitted_lines(groups, blocks, alike, batch["id"]):
        print_block(console, "", line, indent=0)
    if len(passed) <= MOST_PASSED:
        for run in passed:
            print_run(console, run, repeated=repeated, in_short=True, alike=alike[run["id"]])
    _print_summary(console, batch, runs)


def _group_alike(runs: list[Any]) -> dict[int, list[Any]]:
    """Groups repeats of a task that ended for the same reason, by the first run, to print them once."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for run in sorted(runs, key=rank_of):
        reason = cause_and_reason(run) if label_of(run) != "PASS" else ""
        key = (run["task_id"], label_of(run), run["human_verdict"], reason)
        found.setdefault(key, []).append(run)
    return {some[0]["id"]: some for some in found.values()}


def print_run(
    console: Console, run: Any, *, repeated: bool, in_short: bool = False, alike: Sequence[Any] = ()
) -> None:
    label = label_of(run)
    place = describe_run(run, repeated=repeated, alike=alike)
    print_block(console, label, place, style=COLOURS.get(label, "magenta"))
    decided = run["human_verdict"]
    if decided:
        print_block(console, "", f"a person says {decided}", indent=4)
    if written := describe_annotations(run):
        print_block(console, "", written, indent=4)
    text = cause_and_reason(run)
    if text and not in_short:
        print_block(console, "", text, indent=4)


def describe_annotations(run: Any) -> str:
    """`labels: flaky, later; 2 comments`, of a run in a list or in an export."""
    if "annotations" in run:
        written = run["annotations"]
        labels = [*dict.fromkeys(each["text"] for each in written if each["kind"] == "label")]
        comments = sum(each["kind"] == "comment" for each in written)
    else:
        labels, comments = run.get("labels") or [], run.get("comments") or 0
    parts = [f"labels: {', '.join(labels)}"] if labels else []
    return "; ".join(parts + ([plural(comments, "comment")] if comments else []))


def label_of(run: Any) -> str:
    return "ERROR" if run["judge_error"] else str(run["verdict"] or run["status"])


def rank_of(run: Any) -> tuple[int, int]:
    """Sort key: failures first, then the order of the runs."""
    label = label_of(run)
    return _ORDER.index(label if label in _ORDER else "NOT_APPLICABLE"), run["id"]


def describe_run(run: Any, *, repeated: bool, alike: Sequence[Any] = ()) -> str:
    """`run 7, task 3, repeat 2: Refund order #4521.`, or `runs 7, 9, task 3: …` of several alike."""
    number = run.get("row_number") or run["task_id"]
    repeat = f", repeat {run['repeat_number']}" if repeated and len(alike) < 2 else ""
    instruction = one_line(run.get("user_instruction"), LONGEST_INSTRUCTION)
    ids = [each["id"] for each in alike] or [run["id"]]
    return f"{_format_run_ids(ids)}, task {number}{repeat}: {instruction}"


def cause_and_reason(run: Any) -> str:
    """The cause with the reason; the cause in words where the run has no reasoning (as in lists)."""
    text = " ".join(reason_text(run).split())
    if not text:
        return cause_in_words(run)
    return shortened(": ".join(filter(None, (cause_of(run), text))), LONGEST_REASON)


def reason_text(run: Any) -> str:
    """The verdict's reason, or why there is no verdict."""
    if run["judge_error"]:
        return str(run["judge_error"])
    if run["error_class"]:
        return error_in_words(run["error_class"], run.get("error_json")) or ""
    return str((run.get("judgement") or {}).get("reasoning") or "")


def build_text(batch: Any) -> str:
    """` (label)` to append to the version of an agent, if the batch has a label or a reported build."""
    build = batch.get("label") or batch.get("reported_build")
    return f" ({one_line(build, LONGEST_BUILD)})" if build else ""


def _batch_title(batch: Any, runs: list[Any]) -> str:
    agent = f"agent {batch['agent_id']} version {batch['agent_version']}{build_text(batch)}"
    tape = f", {batch['passthrough']} {batch['cassette']}" if batch.get("cassette") else ""
    return f"Batch {batch['id']}: {agent}, {plural(len(runs), 'run')}, {batch['status']}{tape}"


def _by_label(runs: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for run in sorted(runs, key=rank_of):
        groups.setdefault(label_of(run), []).append(run)
    return groups


def _examples(groups: dict[str, list[Any]]) -> list[Any]:
    """Some runs of each kind of failure, so that a common kind does not hide a rare one."""
    kinds: dict[tuple[str, str], list[Any]] = {}
    for label, runs in groups.items():
        for run in runs:
            kinds.setdefault((label, cause_of(run)), []).append(run)
    examples = [run for some in zip_longest(*kinds.values()) for run in some if run is not None]
    return sorted(examples[:MOST_BLOCKS], key=rank_of)


def _omitted_lines(
    groups: dict[str, list[Any]], shown: list[Any], alike: dict[int, list[Any]], batch_id: int
) -> Iterator[str]:
    known = {run["id"] for run in shown}
    for label, runs in groups.items():
        rest = [each for run in runs if run["id"] not in known for each in alike[run["id"]]]
        if rest:
            how = f"--verdict {label}" if label in ("FAIL", "PENDING", "NOT_APPLICABLE") else "--limit 500"
            yield f"… and {len(rest):,} more {label}: pipelines ls runs --batch {batch_id} {how}"


def _print_summary(console: Console, batch: Any, runs: list[Any]) -> None:
    console.print()
    for label, some in _by_label(runs).items():
        kinds = Counter(cause_of(run) for run in some if cause_of(run))
        text = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
        print_block(console, f"{len(some):,} {label}", text, style=COLOURS.get(label, "magenta"))
        for line in to_do_lines(some):
            print_block(console, "", line, indent=4)
    summary = batch["summary"]
    if summary["pass_rate"] is not None:
        low, high = summary["pass_rate_interval"]
        rate = f"{summary['passed']} of {summary['judged']} judged runs pass: {summary['pass_rate']:.0%}"
        print_block(console, "", f"{rate} (95 % interval {low:.0%}–{high:.0%})", indent=0)
    by_k = list(summary["pass_hat_k"].items())
    for k, share in by_k if len(by_k) <= MOST_K else [*by_k[: MOST_K - 1], by_k[-1]]:
        print_block(console, "", f"pass^{k}: {share:.0%} of tasks pass {k} times out of {k}", indent=0)
    for line in (*usage_lines(runs), *cost_lines(batch.get("costs") or {})):
        print_block(console, "", line, indent=0)
    for line in warnings_of(runs):
        print_block(console, "warning", line, style="yellow")
    noted = len([run for run in runs if run.get("unverified")])
    if noted:
        message = f"{noted} of {len(runs)} runs have statements that were not verified"
        print_block(console, "", f"{message}: pipelines ls runs --batch {batch['id']} --unverified", indent=0)
    undecided = len([run for run in runs if is_undecided(run)])
    if undecided:
        needed = f"{undecided} of {len(runs)} need a person to decide"
        print_block(console, "", f"{needed}: pipelines review --batch {batch['id']}", indent=0)
    if any(label_of(run) != "PASS" for run in runs):
        print_block(console, "", "Look at one: pipelines show RUN", indent=0, rest="dim")


def is_undecided(run: Any) -> bool:
    return not run["human_verdict"] and (run["verdict"] == "PENDING" or bool(run["judge_error"]))


def warnings_of(runs: list[Any]) -> list[str]:
    """The warnings of the runs, each one once, with the runs that have it."""
    found: dict[str, list[int]] = {}
    for run in runs:
        for warning in run["soft_warnings"] or ():
            found.setdefault(str(warning), []).append(run["id"])
    lines = [f"{_format_run_ids(ids)}: {warning}" for warning, ids in found.items()]
    more = len(lines) - MOST_WARNINGS
    return lines[:MOST_WARNINGS] + ([f"… and {more} more: soft_warnings of each run"] if more > 0 else [])


def _format_run_ids(ids: list[int]) -> str:
    more = f", … ({len(ids):,} in all)" if len(ids) > MOST_RUNS_NAMED else ""
    some = ", ".join(map(str, ids[:MOST_RUNS_NAMED])) + more
    return f"run {some}" if len(ids) == 1 else f"runs {some}"


def print_changes(console: Console, changes: list[Any]) -> None:
    """Of verdicts: `run 12  FAIL (not_done) → PASS`."""
    for change in changes[:MOST_CHANGES]:
        before, after = (_side(change[key]) for key in ("from", "to"))
        print_block(console, f"run {change['run_id']}", f"{before} → {after}")
    if len(changes) > MOST_CHANGES:
        print_block(console, "", f"… and {len(changes) - MOST_CHANGES:,} more: --json", indent=0)


def _side(verdict: Any) -> str:
    cause = verdict["failure_mode"] or verdict.get("pending_reason")
    mode = f" ({cause})" if cause else ""
    return f"{verdict['verdict'] or 'ERROR'}{mode}"
