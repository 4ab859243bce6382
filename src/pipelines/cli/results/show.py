"""`pipelines show`: a run, its verdict first and then its events; or a batch as `run` prints it."""

from collections import Counter
from typing import Any

from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.coding.show import print_coding
from pipelines.cli.files import BATCH, run_or_batch
from pipelines.cli.gate import without_retried
from pipelines.cli.options import Answer
from pipelines.cli.output.batch_report import label_of, print_batch, reason_text
from pipelines.cli.output.blocks import (
    COLOURS,
    arguments_text,
    new_console,
    print_block,
    print_title,
    shortened,
    value_text,
)
from pipelines.cli.output.conversation import conversation_lines
from pipelines.cli.output.exchange_report import cost_lines
from pipelines.cli.output.ledger_changes import ledger_changes
from pipelines.cli.output.phrases import plural
from pipelines.cli.output.usage import seconds_of, seconds_text, usage_json, usage_lines
from pipelines.cli.output.verdict_text import cause_in_words, to_do_about, unverified_lines
from pipelines.cli.results.judges import calibration_words
from pipelines.core.tasks.oracle_axes import ORACLE_AXES
from pipelines.wire.names import MODEL_CALL

LONGEST = 400  # characters of one value; --full has all of it
MOST_ROWS = 60  # of a trace
MOST_CHANGES = 40
WITHOUT_LIMIT = 10**9
CODING = "coding_scenario"  # of a seed: its scenario, where it is about a workspace


def show_one(server: Server, named: str, *, full: bool) -> Answer:
    kind, number = run_or_batch(named)
    return show_batch(server, number) if kind == BATCH else show_run(server, number, full=full)


def show_batch(server: Server, batch_id: int) -> Answer:
    batch = server.get(f"/api/batches/{batch_id}")
    runs = without_retried(server.get(f"/api/batches/{batch_id}/export")["items"])
    value = {"batch": batch, "runs": runs, "usage": usage_json(runs)}
    return Answer(value, lambda _: print_batch(new_console(), batch, runs))


def show_run(server: Server, run_id: int, *, full: bool = False) -> Answer:
    run = server.get(f"/api/runs/{run_id}")
    whole = run | {"trace": server.every(f"/api/runs/{run_id}/trace")}
    whole["output"] = server.get(f"/api/runs/{run_id}/output")
    whole["earlier_verdicts"] = server.get(f"/api/runs/{run_id}/verdicts")["earlier"]
    if CODING in run["odyssey_seed"]:
        whole["coding"] = server.get(f"/api/runs/{run_id}/coding")
    return Answer(whole, lambda run: _print_run(server, run, full=full))


def _print_run(server: Server, run: Any, *, full: bool) -> None:
    trace, output, coding = run["trace"], run["output"], run.get("coding")
    console, longest = new_console(), WITHOUT_LIMIT if full else LONGEST
    _print_head(console, run)
    _print_verdict(console, run)
    _print_judge(console, server, run)
    _print_unverified(console, run, longest)
    _print_task(console, run, _oracle(server, run), longest)
    _print_trace(console, trace, longest, MOST_ROWS if not full else WITHOUT_LIMIT)
    if coding is None:
        _print_changes(console, run, trace, longest, MOST_CHANGES if not full else WITHOUT_LIMIT)
    _print_answer(console, run, longest)
    _print_error(console, run)
    if coding is not None:
        print_coding(console, coding, full=full)
    _print_people(console, run["review"], run["earlier_verdicts"])
    _print_section(console, "Comments and labels", [_format_annotation(each) for each in run["annotations"]])
    _print_section(console, "Warnings", [str(warning) for warning in run["soft_warnings"] or ()])
    for stream in ("stdout", "stderr"):
        if output[stream].strip():
            _print_section(console, f"Output ({stream})", output[stream].rstrip().splitlines())


def _print_section(console: Console, title: str, lines: list[str]) -> None:
    if lines:
        console.print()
        print_title(console, title)
    for line in lines:
        print_block(console, "", line, indent=2)


def _print_head(console: Console, run: Any) -> None:
    label = label_of(run)
    cause = cause_in_words(run)
    print_block(
        console,
        f"Run {run['id']}: {label}",
        f"· {cause}" if cause else "",
        style=f"bold {COLOURS.get(label, 'magenta')}",
    )
    batch = f"batch {run['batch_id']}, " if run["batch_id"] is not None else ""
    place = f"task {run['row_number']} of dataset {run['dataset_id']} (task id {run['task_id']})"
    repeat = f", repeat {run['repeat_number']}" if run["repeat_number"] > 1 else ""
    print_block(console, "", f"{batch}{place}{repeat}", indent=0, rest="dim")
    took = seconds_of(run)
    time = f", took {seconds_text(took)}" if took is not None else ""
    agent = f"agent {run['agent_id']} version {run['agent_version']}, {run['mode']}, {run['status']}{time}"
    print_block(console, "", agent, indent=0, rest="dim")
    if run["cassette"] is not None:
        text = f"passthrough tools: {run['passthrough']}, cassette {run['cassette']}"
        print_block(console, "", text, indent=0, rest="dim")
    for line in (*usage_lines([run])[1:], *cost_lines(run["costs"])):
        print_block(console, "", line, indent=0, rest="dim")


def _oracle(server: Server, run: Any) -> Any:
    """The oracle of the verdict: the run's own, or a later version of its task's."""
    version = ((run["judgement"] or {}).get("oracle") or {}).get("version")
    listed = server.find(f"/api/tasks/{run['task_id']}/oracles") if version else None
    found = [each for each in (listed or {}).get("items") or () if each["version"] == version]
    return found[0] if found else run["odyssey_seed"]


def _print_task(console: Console, run: Any, oracle: Any, longest: int) -> None:
    seed = run["odyssey_seed"]
    turns = [seed["user_instruction"], *(seed.get("scripted_user_turns") or ())]
    _print_section(console, "Request", [shortened(str(turn), longest * 2) for turn in turns])
    given = [axis for axis in ORACLE_AXES if oracle.get(axis) is not None]
    lines = [f"{axis}: {value_text(oracle[axis], longest)}" for axis in given]
    if lines or CODING not in seed:
        _print_section(console, "Expected", lines or ["the task has no oracle"])


def _print_answer(console: Console, run: Any, longest: int) -> None:
    """The final response; of a conversation every message."""
    text = conversation_lines(run, longest)
    if text:
        _print_section(console, "Conversation", text)
    elif run["final_response"] is not None:
        _print_section(console, "Final response", [shortened(run["final_response"], longest * 5)])


def _print_trace(console: Console, trace: list[Any], longest: int, most: int) -> None:
    kinds = Counter(row["kind"] for row in trace)
    calls, model_calls = kinds["tool_call"], kinds[MODEL_CALL]
    models = f", {plural(model_calls, 'model call')}" if model_calls else ""
    console.print()
    events = plural(len(trace) - calls - model_calls, "event")
    print_title(console, f"What happened ({plural(calls, 'tool call')}{models}, {events})")
    for row in trace[:most]:
        for indent, line in row_lines(row, longest):
            print_block(console, "", line, indent=indent)
    if len(trace) > most:
        print_block(console, "", f"… and {len(trace) - most:,} more: --full", indent=2)
    if not trace:
        print_block(console, "", "no call reached the proxy", indent=2)


def row_lines(row: Any, longest: int) -> list[tuple[int, str]]:
    """A call and its reply, or an event; each with its indent."""
    actor = f" [{row['actor_id']}]" if row["actor_id"] else ""
    if row["kind"] == MODEL_CALL:
        return _model_lines(row)
    if row["kind"] != "tool_call":
        return [(2, f"{row['sequence']}{actor} {row['kind']}: {value_text(row['payload'], longest)}")]
    called = f"{row['sequence']}{actor} {row['tool_name']} {arguments_text(row['arguments'], longest)}"
    return [(2, called.rstrip()), (6, f"{reply_head(row)}: {value_text(row['response'], longest)}")]


def _model_lines(row: Any) -> list[tuple[int, str]]:
    """Which model was asked, and the outcome; the texts are not stored."""
    call = row["payload"]
    named = call["model"] or "a model"
    question = f"{row['sequence']} {named} of gateway {call['gateway']}: {call['call']}"
    status = row["http_status"] if row["http_status"] is not None else "no answer"
    parts = [call["input_tokens"], call["output_tokens"]]
    tokens = ["not told" if count is None else f"{count:,}" for count in parts]
    counts = "" if parts == [None, None] else f", tokens in {tokens[0]}, out {tokens[1]}"
    time = "" if row["latency_ms"] is None else f", {row['latency_ms']} ms"
    error = f": {call['error']}" if call["error"] else ""
    return [(2, question), (6, f"→ {status}{time}{counts}{error}")]


def reply_head(row: Any) -> str:
    """`→ 502, injected by failure_rules[0], 3 ms`, or `→ no reply (504), …` of a time-out or a reset."""
    status = row["http_status"] if row["http_status"] is not None else "no reply"
    if _is_wire_fault(row):  # the row was written before the connection was held: its time is not the agent's
        row, status = row | {"latency_ms": None}, f"no reply ({status})"
    rule = f" by failure_rules[{row['matched_rule_index']}]" if row["matched_rule_index"] is not None else ""
    code = f", {row['error_code']}" if row["error_code"] else ""
    time = "" if row["latency_ms"] is None else f", {row['latency_ms']} ms"
    return f"→ {status}, {row['source']}{rule}{code}{time}{_matched_rule(row)}"


def _matched_rule(row: Any) -> str:
    """The rule of the tool's plan that answered."""
    rule = row.get("matched_rule")
    if not rule:
        return ""
    how = "refused" if (row["http_status"] or 0) >= 400 else "answered"
    return f", {how} by the rule “{shortened(rule, LONGEST)}”"


def _is_wire_fault(row: Any) -> bool:
    """Only timeouts and resets have a word as their code; other injected errors have a number."""
    error = row["response"].get("error") if isinstance(row["response"], dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return row["source"] == "injected" and code in ("timeout", "connection_reset")


def _print_changes(console: Console, run: Any, trace: list[Any], longest: int, most: int) -> None:
    changes = ledger_changes(run["odyssey_seed"].get("initial_state") or {}, trace, longest)
    more = [f"… and {len(changes) - most:,} more: --full"] if len(changes) > most else []
    _print_section(console, "Changed in the world", [*changes[:most], *more] or ["nothing"])


def _print_error(console: Console, run: Any) -> None:
    error = run["error_json"] or {}
    if not run["error_class"]:
        return
    lines = [f"{run['error_class']}: {error.get('detail') or ''}".removesuffix(": ")]
    lines += [str(error["hint"])] if error.get("hint") else []
    lines += str(error.get("traceback") or "").rstrip().splitlines()
    _print_section(console, "Error", lines)


def _print_verdict(console: Console, run: Any) -> None:
    judged = run["judgement"] or {}
    parts = [reason_text(run) or "not judged yet"]
    to_do = to_do_about(run)
    parts += [f"What to do: {to_do}"] if to_do else []
    _print_section(console, f"Verdict: {label_of(run)}{_format_judge(judged)}", parts)
    for finding in judged.get("findings") or ():
        rows = ", ".join(map(str, finding["evidence"]))
        evidence = f" (rows {rows})" if rows else ""
        print_block(
            console,
            f"  {finding['status']}",
            f"{finding['check']}: {finding['says']}{evidence}",
            indent=10,
        )
    scores = ", ".join(f"{name} {value}/5" for name, value in (judged.get("scores") or {}).items())
    if scores:
        print_block(console, "  scores", scores, indent=10)


def _print_unverified(console: Console, run: Any, longest: int) -> None:
    """Statements that were not verified; they do not change the verdict."""
    notes = unverified_lines(run)
    _print_section(console, f"Not verified ({len(notes)})", [shortened(note, longest) for note in notes])


def _print_judge(console: Console, server: Server, run: Any) -> None:
    """The judge model: its name, its agreement with people, its cost and its exchange."""
    text = (run["judgement"] or {}).get("model_judge")
    if not text:
        return
    name = f"{text['model']}@{text['prompt_version']}"
    known = server.get("/api/judges/calibration")["items"]
    believed = [f", {calibration_words(judge)}" for judge in known if judge["judge"] == name]
    cost = f", ${text['cost_usd']:.4f}" if text.get("cost_usd") else ""
    exchange = f", exchange {text['exchange_id']}" if text["exchange_id"] else ""
    print_block(console, "  judge", f"{name}{''.join(believed)}{cost}{exchange}", indent=10)


def _format_judge(judged: Any) -> str:
    """` (judge: embedded v3, oracle v2)`"""
    grader, oracle = judged.get("grader") or {}, judged.get("oracle") or {}
    judge = f"judge: {grader['name']} v{grader['version']}" if grader else ""
    version = f"oracle v{oracle['version']}" if oracle else ""
    text = ", ".join(filter(None, (judge, version)))
    return f" ({text})" if text else ""


def _print_people(console: Console, review: Any, earlier: list[Any]) -> None:
    given = (review or {}).get("verdicts") or ()
    lines = []
    for each in given:
        labels = f" [{', '.join(each['labels'])}]" if each["labels"] else ""
        note = f": {each['note']}" if each["note"] else ""
        lines.append(f"{each['reviewer']} says {each['verdict']}{labels}{note}")
    _print_section(console, "People", lines)
    _print_section(console, "Earlier verdicts", [_format_earlier_verdict(past) for past in earlier])


def _format_annotation(written: Any) -> str:
    place = "" if written["step"] is None else f" on step {written['step']}"
    text = f"[{written['text']}]" if written["kind"] == "label" else written["text"]
    return f"{written['by']}{place}: {text}"


def _format_earlier_verdict(past: Any) -> str:
    verdict = past["verdict"] or ("ERROR" if past["judge_error"] else "none")
    verdict += f" ({past['pending_reason']})" if past.get("pending_reason") else ""
    return f"{verdict}{_format_judge(past['judgement'] or {})}, until {past['replaced_at'][:19]}"
