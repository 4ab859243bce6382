"""A small backend with rules that its tools do not tell: a map room that lends sheets. Its recordings are
made by running it, half of them for the model and half to measure by.
"""

import copy
import random
from typing import Any

Row = dict[str, Any]
LONGEST_LOAN = {"fragile": 3, "plain": 14}
MOST_SHEETS = 2
DAILY_FEE = 1.5
NAME = "map room"


def _tool(name: str, description: str, properties: Row, required: list[str]) -> Row:
    return {
        "name": name,
        "description": description,
        "input_schema": {"type": "object", "properties": properties, "required": required},
    }


_SHEET, _READER, _TEXT = (
    {"sheet_id": {"type": "string"}},
    {"reader_id": {"type": "string"}},
    {"type": "string"},
)
TOOLS = [
    _tool("find_sheets", "Search the sheets of a region.", {"region": _TEXT}, ["region"]),
    _tool(
        "lend_sheet",
        "Lend a sheet.",
        {**_SHEET, **_READER, "days": {"type": "integer"}},
        ["sheet_id", "reader_id", "days"],
    ),
    _tool("take_back", "Take a sheet back.", {**_SHEET, "days_late": {"type": "integer"}}, ["sheet_id"]),
    _tool("reader_account", "The account of a reader.", _READER, ["reader_id"]),
    _tool(
        "settle",
        "Settle what a reader owes.",
        {**_READER, "amount": {"type": "number"}},
        ["reader_id", "amount"],
    ),
]


class Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def first_state(chance: random.Random) -> Row:
    sheets = {
        f"S-{100 + number}": {
            "title": f"{region} {number}",
            "region": region,
            "kind": chance.choice(["plain", "plain", "fragile"]),
            "lent_to": None,
            "loans": chance.randrange(4),
        }
        for number, region in enumerate(["Norrland", "Skåne", "Dalarna", "Norrland", "Skåne", "Dalarna"])
    }
    readers = {
        f"R-{number}": {"name": name, "owes": chance.choice([0, 0, 4.5]), "sheets": 0}
        for number, name in enumerate(["Ida", "Nils", "Tove"], 1)
    }
    return {"sheet": sheets, "reader": readers}


class MapRoom:
    """Answers calls on its own state."""

    def __init__(self, state: Row) -> None:
        self.state = copy.deepcopy(state)

    def call(self, tool: str, arguments: Row) -> Any:
        answer = getattr(self, tool)
        return answer(**arguments)

    def find_sheets(self, region: str) -> Row:
        found = [
            {"sheet_id": id, "title": one["title"], "free": one["lent_to"] is None}
            for id, one in self.state["sheet"].items()
            if one["region"].lower() == region.lower()
        ]
        return {"count": len(found), "sheets": found}

    def lend_sheet(self, sheet_id: str, reader_id: str, days: int) -> Row:
        sheet, reader = self._get("sheet", sheet_id), self._get("reader", reader_id)
        if sheet["lent_to"] is not None:
            raise Refused("sheet_out", "The sheet is lent already")
        if reader["owes"] > 0:
            raise Refused("account_open", "The reader has to settle first")
        if reader["sheets"] >= MOST_SHEETS:
            raise Refused("too_many", f"A reader has at most {MOST_SHEETS} sheets")
        allowed = min(days, LONGEST_LOAN[sheet["kind"]])
        sheet["lent_to"] = reader_id
        sheet["loans"] += 1
        reader["sheets"] += 1
        return {"sheet_id": sheet_id, "reader_id": reader_id, "days": allowed}

    def take_back(self, sheet_id: str, days_late: int = 0) -> Row:
        sheet = self._get("sheet", sheet_id)
        if sheet["lent_to"] is None:
            raise Refused("not_lent", "The sheet is in its drawer")
        reader = self.state["reader"][sheet["lent_to"]]
        fee = days_late * DAILY_FEE * (2 if sheet["kind"] == "fragile" else 1)
        sheet["lent_to"] = None
        reader["sheets"] -= 1
        reader["owes"] += fee
        return {"sheet_id": sheet_id, "fee": fee}

    def reader_account(self, reader_id: str) -> Row:
        reader = self._get("reader", reader_id)
        held = [id for id, one in self.state["sheet"].items() if one["lent_to"] == reader_id]
        return {"reader_id": reader_id, "name": reader["name"], "owes": reader["owes"], "held": held}

    def settle(self, reader_id: str, amount: float) -> Row:
        reader = self._get("reader", reader_id)
        if amount > reader["owes"]:
            raise Refused("too_much", "More than the reader owes")
        reader["owes"] -= amount
        return {"reader_id": reader_id, "owes": reader["owes"]}

    def _get(self, kind: str, id: str) -> Row:
        found: Row | None = self.state[kind].get(id)
        if found is None:
            raise Refused("unknown_id", f"There is no {kind} {id}")
        return found


def recorded(tasks: int, calls: int, seed: str) -> list[Row]:
    """Lines of calls.jsonl, each with its own world."""
    chance = random.Random(seed)
    return [_recorded_task(number, calls, chance) for number in range(tasks)]


def _recorded_task(number: int, calls: int, chance: random.Random) -> Row:
    state = first_state(chance)
    backend = MapRoom(state)
    lines = [_recorded_call(backend, chance) for _ in range(calls)]
    return {"task": f"t-{number}", "state": state, "calls": lines}


def _recorded_call(backend: MapRoom, chance: random.Random) -> Row:
    before = copy.deepcopy(backend.state)
    tool, arguments = _drawn_call(backend.state, chance)
    line: Row = {"tool": tool, "args": arguments, "source": "live"}
    try:
        line |= {"status": "ok", "response": backend.call(tool, arguments)}
    except Refused as refused:
        error = {"code": refused.code, "message": str(refused)}
        line |= {"status": "error", "response": {"error": error}}
    return line | {"updates": [*_updates(before, backend.state)]}


def _drawn_call(state: Row, chance: random.Random) -> tuple[str, Row]:
    sheet = chance.choice([*state["sheet"], "S-999"])
    reader = chance.choice([*state["reader"], *state["reader"], "R-99"])
    lent = [id for id, one in state["sheet"].items() if one["lent_to"] is not None] or [sheet]
    owed = state["reader"].get(reader, {"owes": 1})["owes"]
    some: dict[str, Row] = {
        "find_sheets": {"region": chance.choice(["Norrland", "skåne", "Dalarna", "Gotland"])},
        "lend_sheet": {"sheet_id": sheet, "reader_id": reader, "days": chance.choice([2, 7, 30])},
        "take_back": {"sheet_id": chance.choice([*lent, sheet])},
        "reader_account": {"reader_id": reader},
        "settle": {"reader_id": reader, "amount": chance.choice([owed, 50])},
    }
    tool = chance.choice([*some, "lend_sheet", "take_back"])
    if tool == "take_back" and chance.random() < 0.5:
        some[tool]["days_late"] = chance.choice([1, 4])
    return tool, some[tool]


def _updates(before: Row, after: Row) -> list[Row]:
    return [
        {"op": "update", "entity_type": kind, "id": id, "set": changed, "unset": []}
        for kind, of_kind in after.items()
        for id, one in of_kind.items()
        if (changed := {name: value for name, value in one.items() if value != before[kind][id][name]})
    ]
