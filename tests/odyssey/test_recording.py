"""A recording of one's own tools: what they were given, answered and changed, without secrets."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from pipelines.core.simulation.fidelity.recording import read_recording
from pipelines.odyssey.recorded_state import object_state, sqlalchemy_state, sqlite_state
from pipelines.odyssey.recording import Recording


@dataclass
class Order:
    status: str
    total: float


class Shop:
    def __init__(self) -> None:
        self.orders = {"o-1": Order("paid", 30.0), "o-2": Order("shipped", 5.0)}

    def cancel_order(self, order_id: str) -> dict[str, str]:
        """Cancel an order."""
        order = self.orders[order_id]
        if order.status == "shipped":
            raise ValueError("it has shipped")
        order.status = "cancelled"
        return {"status": order.status}


def tasks_of(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "calls.jsonl").read_text().splitlines()]


def test_a_call_is_recorded_with_its_state_and_what_it_changed(tmp_path: Path) -> None:
    shop = Shop()
    recording = Recording(tmp_path, snapshot=object_state({"order": shop.orders}))
    cancel = recording.record(shop.cancel_order)
    with recording.task("cancel"):
        assert cancel("o-1") == {"status": "cancelled"}
        with pytest.raises(ValueError, match="shipped"):
            cancel(order_id="o-2")
    recording.save()
    [task] = tasks_of(tmp_path)
    first, second = task["calls"]
    assert task["state"]["order"]["o-1"] == {"status": "paid", "total": 30.0}
    assert (first["args"], first["status"], first["response"]) == (
        {"order_id": "o-1"},
        "ok",
        {"status": "cancelled"},
    )
    assert first["updates"] == [
        {"op": "update", "entity_type": "order", "id": "o-1", "set": {"status": "cancelled"}}
    ]
    assert (second["status"], second["updates"]) == ("error", [])
    assert second["response"] == {"error": {"code": "ValueError", "message": "it has shipped"}}
    [tool] = json.loads((tmp_path / "tools.json").read_text())
    assert (tool["name"], tool["input_schema"]["required"]) == ("cancel_order", ["order_id"])
    assert len(read_recording({}, tasks_of(tmp_path)).tasks[0].calls) == 2


def test_a_test_of_pytest_is_a_task(tmp_path: Path) -> None:
    shop = Shop()
    cancel = Recording(tmp_path, snapshot=object_state({"order": shop.orders}))
    cancel.record(shop.cancel_order)("o-1")
    cancel.save()
    [task] = tasks_of(tmp_path)
    assert task["task"].endswith("::test_a_test_of_pytest_is_a_task")


def test_a_state_that_the_test_prepares_between_calls_begins_a_task_of_its_own(tmp_path: Path) -> None:
    shop = Shop()
    recording = Recording(tmp_path, snapshot=object_state({"order": shop.orders}))
    cancel = recording.record(shop.cancel_order)
    with recording.task("t"):
        cancel("o-1")
        shop.orders["o-9"] = Order("paid", 1.0)
        cancel("o-9")
    recording.save()
    first, second = tasks_of(tmp_path)
    assert (first["task"], second["task"]) == ("t", "t (2)")
    assert second["state"]["order"]["o-1"]["status"] == "cancelled"
    assert second["state"]["order"]["o-9"]["status"] == "paid"
    assert [len(each["calls"]) for each in (first, second)] == [1, 1]


def test_recording_again_replaces_the_task(tmp_path: Path) -> None:
    for _ in range(2):
        recording = Recording(tmp_path)
        with recording.task("t"):
            recording.record(Shop().cancel_order)("o-1")
        recording.save()
    assert [task["task"] for task in tasks_of(tmp_path)] == ["t"]


def test_rows_of_sqlite_are_entities_before_a_commit(tmp_path: Path) -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE orders (id TEXT PRIMARY KEY, status TEXT)")
    connection.execute("INSERT INTO orders VALUES ('o-1', 'paid')")

    def cancel_order(order_id: str) -> str:
        connection.execute("UPDATE orders SET status = 'cancelled' WHERE id = ?", (order_id,))
        connection.execute("INSERT INTO orders VALUES ('o-2', 'new')")
        return "done"

    recording = Recording(tmp_path, snapshot=sqlite_state(connection, {"order": "orders"}))
    recording.record(cancel_order)("o-1")
    recording.save()
    [call] = tasks_of(tmp_path)[0]["calls"]
    assert [(update["op"], update["id"]) for update in call["updates"]] == [("update", "o-1"), ("add", "o-2")]
    with pytest.raises(ValueError, match="no column number; its columns are id, status"):
        sqlite_state(connection, {"order": "orders"}, id="number")()
    connection.close()


class Base(DeclarativeBase):
    pass


class Ticket(Base):
    __tablename__ = "tickets"
    number: Mapped[int] = mapped_column(primary_key=True)
    state: Mapped[str]


def test_models_of_sqlalchemy_are_entities_before_a_commit(tmp_path: Path) -> None:
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add(Ticket(number=7, state="open"))
        session.flush()

        def close_ticket(number: int) -> bool:
            ticket = session.get(Ticket, number)
            assert ticket is not None
            ticket.state = "closed"
            return True

        recording = Recording(tmp_path, snapshot=sqlalchemy_state(session, {"ticket": Ticket}))
        recording.record(close_ticket)(7)
        recording.save()
    engine.dispose()
    [task] = tasks_of(tmp_path)
    assert task["state"] == {"ticket": {"7": {"number": 7, "state": "open"}}}
    assert task["calls"][0]["updates"][0]["set"] == {"state": "closed"}


def test_an_async_function_is_recorded(tmp_path: Path) -> None:
    async def get_order(order_id: str) -> dict[str, str]:
        return {"id": order_id}

    recording = Recording(tmp_path)
    assert asyncio.run(recording.record(get_order)("o-1")) == {"id": "o-1"}
    recording.save()
    assert tasks_of(tmp_path)[0]["calls"][0]["response"] == {"id": "o-1"}


def test_secrets_are_masked_before_anything_is_written(tmp_path: Path) -> None:
    def sign_in(user: str, password: str) -> dict[str, str]:
        return {"apiKey": "k-55-abc", "message": f"{user} signed in with {password}", "note": "s3cret-url"}

    recording = Recording(tmp_path, secrets=["s3cret-url"])
    recording.record(sign_in)("ann", "correct horse")
    recording.save()
    text = (tmp_path / "calls.jsonl").read_text()
    assert not any(secret in text for secret in ("correct horse", "k-55-abc", "s3cret-url"))
    call = tasks_of(tmp_path)[0]["calls"][0]
    assert call["response"]["message"] == f"ann signed in with {call['args']['password']}"


def test_a_number_under_the_name_of_a_secret_is_masked(tmp_path: Path) -> None:
    def pay(card_pin: int, amount: int) -> bool:
        return True

    recording = Recording(tmp_path)
    recording.record(pay)(card_pin=1234, amount=5)
    recording.save()
    [call] = tasks_of(tmp_path)[0]["calls"]
    assert call["args"] == {"card_pin": "[secret number]", "amount": 5}


def test_functions_with_one_folder_share_a_recording(tmp_path: Path) -> None:
    """In a process of its own, since it is written at exit."""
    script = tmp_path / "suite.py"
    script.write_text(
        "from pipelines.odyssey.recording import record\n"
        "def one(a: int) -> int: return a\n"
        "def two(b: int) -> int: return b\n"
        f"record(one, directory={str(tmp_path / 'r')!r})(1)\n"
        f"record(two, directory={str(tmp_path / 'r')!r})(2)\n"
    )
    subprocess.run([sys.executable, str(script)], check=True)
    [task] = tasks_of(tmp_path / "r")
    assert [call["tool"] for call in task["calls"]] == ["one", "two"]
    assert [tool["name"] for tool in json.loads((tmp_path / "r/tools.json").read_text())] == ["one", "two"]
