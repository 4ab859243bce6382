"""What `pipelines worlds` prints of a session and its world, for a terminal of any width."""

from typing import Any

from rich.console import Console

from pipelines.cli.client import Server
from pipelines.cli.files import stop
from pipelines.cli.options import Answer
from pipelines.cli.output.blocks import new_console, one_line, print_block, print_title, value_text
from pipelines.cli.output.exchange_report import cost_text
from pipelines.cli.output.listing import print_rows
from pipelines.cli.output.phrases import plural
from pipelines.core.ledger.world_tables import field_summaries

SESSIONS = "/api/seed-sessions"
MOST_LISTED = 12  # changes of a world; --json has more of them
LONGEST = 160
#: What can be done next, by state.
NEXT = {
    "world_review": (
        'pipelines worlds refine {id} "…"   (or regenerate, paste, undo)',
        "pipelines worlds continue {id}",
    ),
    "rows_generating": ("pipelines worlds show {id}",),
    "rows_review": (
        "pipelines worlds rows {id} --full   (or drop, regenerate --row N)",
        "pipelines worlds finalize {id}",
    ),
    "finalized": ("pipelines run --agent {agent_id} --dataset {dataset_id}",),
}


def path_of(session_id: int) -> str:
    return f"{SESSIONS}/{session_id}"


def show_sessions(server: Server) -> Answer:
    return Answer(server.every(SESSIONS), _print_sessions)


def _print_sessions(items: list[Any]) -> None:
    rows: list[tuple[str, ...]] = [
        (
            *(str(each["id"]), each["status"], each["size"], f"revision {each['revision']}"),
            *(f"agent {each['agent_id']}", one_line(each["name"], 60)),
        )
        for each in items
    ]
    empty = "There are no sessions yet: make one with `pipelines worlds new --agent AGENT`."
    print_rows(["session", "status", "size", "world", "agent", "name"], rows, empty=empty)


def show_session(server: Server, session_id: int, *, only: str | None = None) -> Answer:
    session = server.get(path_of(session_id)) | {"world": server.get(f"{path_of(session_id)}/world")}
    if only is not None:
        return Answer(session, lambda found: _print_type(new_console(), found["world"], only))
    return Answer(session, _print_session)


def _print_session(session: Any) -> None:
    console, world = new_console(), session["world"]
    print_title(console, f"Session {session['id']}: {session['name']}")
    frozen = f", frozen as {session['world_hash'][:12]}" if session["world_hash"] else ""
    status = f"Status: {session['status'].replace('_', ' ')}, revision {world['revision']}{frozen}"
    about = f"{status}. Seed: {session['rng_seed']}. Date in the world: {session['now'][:10]}."
    print_block(console, "", about, indent=0)
    _print_models(console, session["models"])
    _print_world(console, world)
    print_advisories(console, world)
    print_buckets(console, session)
    print_next(console, session)


def _print_models(console: Console, spent: Any) -> None:
    """Print what the author's model cost, if a model writes the world."""
    if spent is None:
        return
    most = (
        [f"{spent['budget']['max_cost_usd']:,.2f} USD"] if spent["budget"]["max_cost_usd"] is not None else []
    )
    tokens = spent["budget"]["max_model_tokens"]
    most += [f"{tokens:,} tokens"] if tokens is not None else []
    limit = f"; at most {' and '.join(most)}" if most else ""
    used_up = ", which is used up" if spent["budget"]["used_up"] else ""
    text = f"author {spent['model'] or 'not asked yet'}: {cost_text(spent)}{limit}{used_up}"
    print_block(console, "", text, indent=0)


def estimate_of_session(foreseen: Any) -> str:
    """The estimate of what a model will cost."""
    parts = [name for name in ("world", "rows") if foreseen[name]["questions"]]
    total = foreseen["total"]
    dollars = "cost unknown" if total["cost_usd"] is None else f"{total['cost_usd']:,.4f} USD"
    questions = f"{plural(total['questions'], 'question')}, {total['tokens']:,} tokens"
    return f"Estimate for {' and '.join(parts) or 'nothing'} by {foreseen['model']}: {dollars} ({questions})."


def _print_world(console: Console, world: Any) -> None:
    many = plural(len(world["types"]), "type")
    print_title(console, f"\nThe world: {plural(world['entities'], 'record')} of {many}")
    for each in world["types"]:
        section = world["state"][each["type"]]
        print_block(console, "", f"{each['type']} ({each['count']})", indent=0, rest="cyan")
        for name, summary in field_summaries(section).items():
            print_block(console, f"  {name}", summary, indent=4 + max(12, len(name)))
    for note in world["notes"]:
        print_block(console, "note", note, rest="dim")


def _print_type(console: Console, world: Any, only: str) -> None:
    if only not in world["state"]:
        known = ", ".join(each["type"] for each in world["types"])
        stop(f"The world has no type {only!r}; it has {known}.")
    for id, attributes in world["state"][only].items():
        print_block(console, "", f"{only} {id}", indent=0, rest="cyan")
        for name, value in attributes.items() if isinstance(attributes, dict) else ():
            print_block(console, f"  {name}", value_text(value, LONGEST), indent=4 + max(12, len(name)))


def advisories_in_order(world: Any) -> list[Any]:
    """The advisories grouped by kind: the order in which they are numbered."""
    kinds = list(dict.fromkeys(each["name"] for each in world["advisories"]))
    return sorted(world["advisories"], key=lambda each: kinds.index(each["name"]))


def print_advisories(console: Console, world: Any) -> None:
    found = advisories_in_order(world)
    if not found:
        print_block(console, "", "\nNo advisories.", indent=0, rest="green")
        return
    print_title(console, f"\nTo review: {plural(len(found), 'advisory', 'advisories')}")
    kind = ""
    for number, each in enumerate(found, 1):
        if each["name"] != kind:
            kind = each["name"]
            print_block(console, "", kind.replace("_", " "), indent=0, rest="yellow")
        print_block(console, f"{number:>4}", each["message"], indent=6)
        if each["fix"]:
            print_block(console, "      fix:", each["fix"], indent=11, rest="dim")
    if world["advisories_left_out"]:
        print_block(console, "", f"… and {world['advisories_left_out']} more", indent=6)


def print_buckets(console: Console, session: Any, *, full: bool = False) -> None:
    """Print each bucket; below one with too few rows, and below all with `full`, how its theme was read."""
    chosen = " (chosen for you; name your own with --bucket)" if session["buckets_chosen"] else ""
    print_title(console, f"\nBuckets{chosen}")
    has_rows = session["status"] != "world_review"
    for each in session["buckets"]:
        target = plural(each["wanted"], "row")
        text = f"{each['kept']} of {target}" if has_rows else target
        rejected = f", {plural(each['rejected'], 'draft')} rejected" if each["rejected"] else ""
        theme = f": {each['theme']}" if each["theme"] != each["name"] else ""
        label = f"{each['number']:>3}  {each['name']}"
        print_block(console, label, f"{text}{rejected}{theme}", indent=max(24, len(label) + 2))
        if each["problem"]:
            print_block(console, "", each["problem"], indent=5, rest="yellow")
        is_short = has_rows and each["kept"] < each["wanted"]
        for note in each["notes"] if full or is_short else ():
            print_block(console, "", note, indent=5, rest="dim")
    for reason, often in session["rejected_by_reason"].items():
        print_block(console, "", f"rejected {often}: {reason.replace('_', ' ')}", indent=5, rest="dim")


def print_next(console: Console, session: Any) -> None:
    lines = NEXT.get(session["status"], ())
    if lines:
        print_block(console, "", "", indent=0)
    for line in lines:
        print_block(console, "next:", line.format(**session))


def print_change(console: Console, revision: Any) -> None:
    """Print a new revision: its text, the changes, and the advisories."""
    kind = {"refined": "refined", "pasted": "pasted", "undone": "back as it was"}.get(revision["kind"], "new")
    print_title(console, f"Revision {revision['number']}: {kind}")
    if revision["said"]:
        print_block(console, "", revision["said"], indent=0)
    _print_difference(console, revision["changes"])
    print_advisories(console, revision)
    print_next(console, {"status": "world_review", "id": revision["session_id"]})


def _print_difference(console: Console, changes: Any) -> None:
    counted = {"+": changes["added"], "~": changes["changed"], "-": changes["removed"]}
    words = {"+": "added", "~": "changed", "-": "removed"}
    text = ", ".join(f"{number} {words[sign]}" for sign, number in counted.items() if number)
    print_block(console, "", f"Records: {text or 'none changed'}.", indent=0)
    for change in changes["listed"][:MOST_LISTED]:
        print_block(console, *_format_change(change), indent=4)
    unlisted = len(changes["listed"]) - MOST_LISTED
    if unlisted > 0 or changes["is_cut"]:
        print_block(console, "", "… and more: --json, or `worlds show ID --revisions --json`", indent=4)


def _format_change(change: Any) -> tuple[str, str]:
    before, after = (value_text(change[side], LONGEST // 2) for side in ("before", "after"))
    match change["kind"]:
        case "added":
            return "  +", f"{change['place']} {value_text(change['after'], LONGEST)}"
        case "removed":
            return "  -", str(change["place"])
        case "flag":
            return "  ~", f"flag {change['place']} is {after}"
        case _:
            was = before if change["had"] else "nothing"
            return (
                "  ~",
                f"{change['place']}.{change['field']}: {was} → {after if change['has'] else 'nothing'}",
            )


def show_revisions(server: Server, session_id: int) -> Answer:
    return Answer(server.every(f"{path_of(session_id)}/revisions"), _print_revisions)


def _print_revisions(items: list[Any]) -> None:
    rows: list[tuple[str, ...]] = []
    for each in items:
        changes = each["changes"]
        text = f"+{changes['added']} ~{changes['changed']} -{changes['removed']}"
        summary = one_line(each["prompt"], 80) if each["prompt"] else "–"
        rows.append((str(each["number"]), each["kind"], text, one_line(each["by"], 20), summary))
    print_rows(["revision", "what", "records", "by", "prompt"], rows, empty="There are no revisions.")
