"""One small world, and what a tool of one line does in it: for the tables of examples of the families.

A tool is a signature (`pay_invoice(invoice_id, amount:number)`, a `?` behind what may be left out) and a
description; what its plan does is told in one line, such as `set order.status='cancelled'` or `add note`.
"""

import json
import re
from typing import Any, NamedTuple

from pipelines.core.ledger.ledger import World
from pipelines.core.simulation.reading.assemble import ReadPlan, read_plan, survey_for
from pipelines.core.tools.tools_schema import Tool, parse_tools_schema

_RECORDS = """
customer C-1 name=Ines email=i@x.org city=Graz birth_date=1990-02-01 suspended=false
customer C-2 name=Jan email=j@x.org city=Linz birth_date=1987-11-30 suspended=true
order O-1 customer_id=C-1 status=pending total=40.5 address=Ring placed_at=2026-01-02
order O-2 customer_id=C-2 status=on_hold total=9.5 address=Gasse placed_at=2026-01-03
order O-3 customer_id=C-2 status=cancelled total=7.5 address=Gasse placed_at=2026-01-04
invoice I-1 customer_id=C-1 status=open amount=100 amount_paid=20 due_date=2026-02-01
invoice I-2 customer_id=C-2 status=paid amount=50 amount_paid=50 due_date=2026-01-01
account A-1 customer_id=C-1 balance=120 frozen=false
account A-2 customer_id=C-2 balance=30 frozen=true
lesson L-1 title=Chess pupil_ids=["P-1"] tags=["new"] room=R12
lesson L-2 title=Go pupil_ids=[] tags=[] room=R14
pupil P-1 name=Mia age=9
pupil P-2 name=Tom age=11
note N-1 customer_id=C-1 text=Later
note N-2 customer_id=C-2 text=VIP
"""


def _value(text: str) -> Any:
    return json.loads(text) if re.match(r"\[|\d+(\.\d+)?$|true$|false$", text) else text


def _state() -> dict[str, Any]:
    state: dict[str, Any] = {}
    for kind, id, *fields in map(str.split, _RECORDS.strip().splitlines()):
        pairs = (field.split("=") for field in fields)
        state.setdefault(kind, {})[id] = {name: _value(text) for name, text in pairs}
    return state


STATE = _state()
#: Other tools of the set: they say how its ids are called.
AROUND = (*(f"get_{kind}({kind}_id)" for kind in STATE),)


def declared(signature: str, description: str = "", **more: Any) -> dict[str, Any]:
    name, given = re.fullmatch(r"(\w+)\((.*)\)", signature).groups()  # type: ignore[union-attr]
    parts = [
        re.fullmatch(r"(\w+)(\?)?(?::(\w+))?", part.strip()) for part in given.split(",") if part.strip()
    ]
    properties = {part[1]: {"type": part[3] or "string"} for part in parts if part}
    required = [part[1] for part in parts if part and not part[2]]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"name": name, "description": description, "parameters": schema, **more}


def tools_of(signature: str, description: str = "", **more: Any) -> tuple[Tool, ...]:
    own = declared(signature, description, **more)
    others = [declared(one) for one in AROUND]
    return parse_tools_schema([own, *(one for one in others if one["name"] != own["name"])])


def read(signature: str, description: str = "", **more: Any) -> ReadPlan:
    tools, world = tools_of(signature, description, **more), World.from_initial_state(STATE)
    return read_plan(tools[0], tools=tools, world=world, known=survey_for(tools, world=world))


def effects(plan: ReadPlan) -> str:
    """What its steps change, or what they search; where neither, what the tool answers."""
    said = [said for step in plan.body for said in _said(step)]
    answers = [f"returns {step['return']}" for step in plan.body if "return" in step]
    return "; ".join(said or answers)


def _said(step: dict[str, Any]) -> list[str]:
    found = step.get("find")
    if "then" in step:
        return [said for inner in step["then"] for said in _said(inner)]
    if "set" in step:
        return [f"set {place}={value}" for place, value in step["set"].items()]
    if "append" in step:
        return [f"append {place}={value}" for place, value in step["append"].items()]
    if "add" in step:
        return [f"add {step['add']['in']}"]
    if "remove" in step:
        return [f"remove {step['remove']}"]
    if found and "id" not in found and "where" in found:
        return [f"{found['in']} where {found['where']}"]
    if found and found.get("all"):
        return [f"all {found['in']}"]
    return []


class Row(NamedTuple):
    """One example: `signature: description`, below it `-> effect`, with a `?` where it is a guess."""

    signature: str
    description: str
    effect: str
    is_guess: bool

    def __str__(self) -> str:
        return f"{self.signature} {self.description}"


def rows(table: str) -> list[Row]:
    lines = [line.strip() for line in table.strip().splitlines()]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    split = ((*re.split(r"(?<=\)):? ?", tool, maxsplit=1), effect) for tool, effect in pairs)
    return [
        Row(name, said, effect[2:].lstrip("? "), effect.startswith("->?")) for name, said, effect in split
    ]


def check(row: Row, *families: str) -> None:
    """`families`: one of these has read it."""
    plan = read(row.signature, row.description)
    assert effects(plan) == row.effect
    assert (plan.confidence < 0.5) == row.is_guess
    assert plan.grounds.matched[0].split("family ")[1] in families
