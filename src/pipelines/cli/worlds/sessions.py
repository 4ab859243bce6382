"""The requests of the `pipelines worlds` commands; `world_report` prints the results."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pipelines.cli.agent.find_agent import find_agent
from pipelines.cli.client import Server
from pipelines.cli.files import read_bytes, stop
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import new_console, print_block
from pipelines.cli.output.phrases import plural
from pipelines.cli.output.world_report import (
    SESSIONS,
    advisories_in_order,
    estimate_of_session,
    path_of,
    print_buckets,
    print_change,
    print_next,
    show_session,
)
from pipelines.cli.output.world_rows import bucket_number, print_rows
from pipelines.cli.progress import stderr
from pipelines.core.tasks.seed_session import MODEL

MODEL_TIMEOUT_S = 1_800.0  # a model writes a large world part by part, each within the server's own limits
Body = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class NewWorld:
    agent: str
    name: str | None
    size: str
    buckets: tuple[str, ...]
    instructions: str | None
    behavior: str | None
    seed: int | None
    now: str | None
    author: str
    max_cost_usd: float | None = None
    max_model_tokens: int | None = None


def open_world(server: Server, new_world: NewWorld) -> Answer:
    buckets = [_parse_bucket(text) for text in new_world.buckets]
    agent = find_agent(server, new_world.agent)
    body: Body = {"agent_id": agent["id"], "name": new_world.name or f"{agent['name']} world"}
    given = {
        "size": new_world.size,
        "author": new_world.author,
        "instructions": new_world.instructions,
        "behavior": _read_text_or_file(new_world.behavior),
        "rng_seed": new_world.seed,
        "now": new_world.now,
        "buckets": buckets or None,
        "max_cost_usd": new_world.max_cost_usd,
        "max_model_tokens": new_world.max_model_tokens,
    }
    body |= {name: value for name, value in given.items() if value is not None}
    if new_world.author == MODEL:
        stderr.print(estimate_of_session(server.post(f"{SESSIONS}/estimate", body)), highlight=False)
    session = server.post(SESSIONS, body, timeout=MODEL_TIMEOUT_S)
    report = show_session(server, session["id"])
    return Answer(session | {"world": report.value["world"]}, lambda _: report.show(report.value))


def refine_world(
    server: Server,
    session_id: int,
    prompt: str | None,
    *,
    fix: int | None,
    revision: int | None,
) -> Answer:
    if (prompt is None) == (fix is None):
        stop('Give a sentence, such as "add 3 cancelled orders", or --fix N.')
    if prompt is None:
        world = server.get(f"{path_of(session_id)}/world")
        prompt, revision = _fix_prompt(world, int(fix or 0)), world["revision"]
    body: Body = {"prompt": prompt} | ({"revision": revision} if revision is not None else {})
    refined = server.post(f"{path_of(session_id)}/world/refine", body, timeout=MODEL_TIMEOUT_S)
    return _show_revision(refined)


def regenerate_part(
    server: Server, session_id: int, *, row: int | None, bucket: str | None, seed: int | None
) -> Answer:
    if row is not None and bucket is not None:
        stop("Give --row or --bucket, not both.")
    if seed is not None and (row is not None or bucket is not None):
        stop("--seed is for the world, not for a row or a bucket.")
    if row is None and bucket is None:
        body = {"rng_seed": seed} if seed is not None else {}
        session = server.post(f"{path_of(session_id)}/world/regenerate", body, timeout=MODEL_TIMEOUT_S)
        return _show_revision(session)
    part = f"rows/{row}" if bucket is None else f"buckets/{bucket_number(server, session_id, bucket)}"
    server.post(f"{path_of(session_id)}/{part}/regenerate")
    return _watch_rows(server, session_id)


def paste_world(server: Server, session_id: int, file: Path, *, revision: int | None) -> Answer:
    raw = sys.stdin.buffer.read() if str(file) == "-" else read_bytes(file)
    # As it is written: what is wrong with it is told by the server, which reads it strictly.
    own = b'{"revision":%d,' % revision if revision is not None else b"{"
    changed = server.put_json(f"{path_of(session_id)}/world", own + b'"state":' + raw + b"}")
    return _show_revision(changed)


def undo_change(server: Server, session_id: int) -> Answer:
    return _show_revision(server.post(f"{path_of(session_id)}/world/undo"))


def continue_session(server: Server, session_id: int, *, revision: int | None, waits: bool) -> Answer:
    body = {"revision": revision} if revision is not None else {}
    foreseen = server.get(f"{path_of(session_id)}/estimate")
    if foreseen["model"] is not None:
        stderr.print(estimate_of_session(foreseen), highlight=False)
    session = server.post(f"{path_of(session_id)}/continue", body)
    if waits:
        return _watch_rows(server, session_id)
    text = f"The world is frozen as {session['world_hash'][:12]}; its rows are being generated."
    return Answer(session, lambda _: print_block(new_console(), "", text, indent=0))


def resume(server: Server, session_id: int, budget: Body) -> Answer:
    given = {name: value for name, value in budget.items() if value is not None}
    session = server.post(f"{path_of(session_id)}/resume", given)
    if session["status"] == "rows_generating":
        return _watch_rows(server, session_id)
    return Answer(session, _print_progress)


def _print_progress(session: Any) -> None:
    print_buckets(new_console(), session)
    print_next(new_console(), session)


def drop(server: Server, session_id: int, *, rows: tuple[int, ...], bucket: str | None) -> Answer:
    if bool(rows) == (bucket is not None):
        stop("Give --row N, or --bucket NAME.")
    if bucket is not None:
        server.delete(f"{path_of(session_id)}/buckets/{bucket_number(server, session_id, bucket)}")
    for row in rows:
        server.delete(f"{path_of(session_id)}/rows/{row}")
    return Answer(server.get(path_of(session_id)), _print_progress)


def finalize(server: Server, session_id: int) -> Answer:
    return Answer(server.post(f"{path_of(session_id)}/finalize"), _print_dataset)


def _print_dataset(session: Any) -> None:
    kept = plural(session["counts"]["kept"], "task")
    text = f"Dataset {session['dataset_id']} ({session['name']}) has {kept} over one world."
    print_block(new_console(), "", text, indent=0, rest="bold")
    print_next(new_console(), session)


def abandon(server: Server, session_id: int) -> Answer:
    session = server.post(f"{path_of(session_id)}/abandon")
    return Answer.line(session, f"Session {session_id} is abandoned.")


def _show_revision(revision: Any) -> Answer:
    return Answer(revision, lambda found: print_change(new_console(), found))


def _watch_rows(server: Server, session_id: int) -> Answer:
    """Wait until all rows are there. After Ctrl-C the server continues."""
    columns = (
        TextColumn("session {task.fields[number]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[rejected]}"),
    )
    session: Any = None
    with Progress(*columns, console=stderr) as bar:
        task = bar.add_task("", total=None, number=session_id, rejected="")
        for session in server.events(f"{path_of(session_id)}/events"):
            counts = session["counts"]
            text = f"{counts['rejected']} rejected" if counts["rejected"] else ""
            bar.update(task, total=counts["wanted"], completed=counts["kept"], rejected=text)
    rows = f"{path_of(session_id)}/rows"
    return Answer(session, lambda _: print_rows(server, session_id, server.every(rows, status="kept")))


def _fix_prompt(world: Any, number: int) -> str:
    found = advisories_in_order(world)
    if number > len(found):
        stop(f"There is no advisory {number}: this world has {len(found)}.")
    fix = found[number - 1]["fix"]
    if fix is None:
        stop(f"Advisory {number} has no fix in words: {found[number - 1]['message']}")
    return str(fix)


def _parse_bucket(text: str) -> Body:
    name, *rest = text.split(":", 2)
    if not name.strip() or not rest or not rest[0].strip().isdigit():
        stop(f'A bucket is written as "NAME:ROWS", such as "refunds:10", not "{text}".')
    body: Body = {"name": name.strip(), "rows": int(rest[0])}
    return body | ({"theme": rest[1].strip()} if len(rest) > 1 and rest[1].strip() else {})


def _read_text_or_file(given: str | None) -> str | None:
    if given is None or "\n" in given or len(given) > 255 or not Path(given).is_file():
        return given
    return read_bytes(Path(given)).decode("utf-8", "replace")
