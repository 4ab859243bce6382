"""`pipelines odyssey rules`: how the server's model translates sentences of behaviour texts into rules."""

from collections.abc import Sequence
from typing import Any

from pipelines.cli.client import Server
from pipelines.cli.files import is_number, stop
from pipelines.cli.options import Answer
from pipelines.core.simulation.sentences import call_in_words
from pipelines.core.text.json_text import dumps

ALL = "all"
LONGEST_CALL = 200  # characters of an example


def show_rules(
    server: Server,
    dataset_id: int,
    *,
    propose: bool,
    sentences: Sequence[str],
    accept: str | None,
    dismiss: Sequence[str],
) -> Answer:
    path = f"/api/datasets/{dataset_id}/rules"
    if sentences and not propose:
        stop("--sentence needs --propose")
    chosen = _parse_ids(accept) if accept is not None else None
    if dismiss:
        server.post(f"{path}/dismiss", {"sentences": [*dismiss]})
    body: Any = {"sentences": [*sentences]} if sentences else {}
    found = server.wait_for(server.post(f"{path}/propose", body)) if propose else server.get(path)
    items = found["items"]
    if chosen is not None:
        ids = chosen or [item["id"] for item in items if item["status"] == "proposed"]
        accepted = server.post(f"{path}/accept", {"rule_ids": ids})["items"] if ids else []
        now = {item["id"]: item for item in accepted}
        items = [now.pop(item["id"], item) for item in items] + [*now.values()]
    empty = (
        "Every sentence is understood."
        if propose
        else "There are no translated rules yet: --propose asks the model for some."
    )
    return Answer.line(items, "\n".join(map(_format_rule, items)) or empty)


def _parse_ids(accept: str) -> list[int]:
    """The ids in the option; an empty list stands for all."""
    named = [] if accept.strip() == ALL else [one.strip() for one in accept.split(",")]
    if not all(map(is_number, named)):
        stop(f"--accept: ids of rules as in 3,4,7, or `{ALL}`; not {accept!r}")
    return [int(one) for one in named]


def _format_rule(item: Any) -> str:
    tried = item["tried"]
    lines = [f"{item['id']}  {item['status']}  {item['sentence']}"]
    lines += [f"    as a sentence: {line}" for line in tried["read_as"]]
    lines += [f"    {dumps(rule).decode()}" for rule in item["rules"]]
    if item["left_out"]:
        lines.append(f"    left out: {item['left_out']}")
    lines += _format_trial(tried) if item["rules"] else []
    if tried["problem"]:
        lines.append(f"    cannot be accepted: {tried['problem']}")
    if tried["warning"]:
        lines.append(f"    note: {tried['warning']}")
    return "\n".join(lines)


def _format_trial(tried: Any) -> list[str]:
    return [
        f"    {'differs' if call['problem'] else 'as expected'}: {call_in_words(call, LONGEST_CALL)}"
        for call in tried["examples"]
    ]
