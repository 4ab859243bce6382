"""What asking a model costs beside the model itself, and whether many questions at once keep it busy.

    python bench/models.py [--questions N] [--json]

- One question about a world of 1,000 entities and 50 earlier calls, to a model that answers at once: our part
  (masking, storing before and after, checking, keeping), and the same question replayed.
- A batch's worth of questions to a model that takes a second, 32 at a time, against the ideal of N / 32 s.
- A question over a provider's client to a server on loopback, against the bare request.
- What importing the server takes with a provider's model in its settings, against without.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from pipelines.core.models.model_names import read_model_name
from pipelines.core.models.model_question import ModelMessage, ModelQuestion, Purpose
from pipelines.core.text.json_text import JsonObject, dumps
from pipelines.engine.model_calls.ask_models import Asker, Models
from pipelines.engine.model_calls.model_clients import ModelSettings, OpenedModels, Transports
from pipelines.engine.model_calls.model_secrets import ModelSecrets
from pipelines.models.open_model import open_model
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.model_transport import ModelTransport
from pipelines.storage.accounts.credentials import row_of, set_credential
from pipelines.storage.accounts.keys import add_org
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox
from pipelines.storage.database.sqlite_store import SqliteStore

NOW = "2026-05-01T12:00:00.000000Z"
AT_ONCE, MODEL_S = 32, 1.0
ENTITIES, EARLIER = 1_000, 50
SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "response": {"type": "object", "properties": {"order_id": {"type": "string"}}},
        "ledger_updates": {"type": "array", "items": {"type": "object"}},
    },
    "required": ["response", "ledger_updates"],
}
ANSWER = {"response": {"order_id": "4521", "status": "refunded"}, "ledger_updates": []}
IMPORTS = """
import sys, time
began = time.perf_counter()
from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
App(load_settings({"PIPELINES_MODEL": sys.argv[1]}, data_dir=sys.argv[2]))
heavy = [name for name in sys.modules if name.split(".")[0] in ("pydantic_ai", "openai", "anthropic")]
print(time.perf_counter() - began, len(heavy))
"""


def question(number: int, *, is_large: bool = True) -> ModelQuestion:
    world = [{"type": "order", "id": str(4000 + n), "status": "paid", "amount": n} for n in range(ENTITIES)]
    calls = [{"tool": "get_order", "arguments": {"order_id": str(n)}, "status": 200} for n in range(EARLIER)]
    about: Any = {"call": number, "world": world, "earlier": calls} if is_large else {"call": number}
    said = ModelMessage(role="user", content=dumps(about).decode())
    return ModelQuestion(
        purpose=Purpose.SIMULATOR,
        prompt_version="bench/1",
        system="You answer tool calls." * 40,
        messages=(said,),
        schema=SCHEMA,
    )


class Asking:
    """As the server has it: SQLite on disk, an org with secrets, a scripted model."""

    def __init__(self, folder: Path, delay_s: float = 0.0) -> None:
        script = folder / "script.jsonl"
        script.write_bytes(dumps({"answer": ANSWER, "delay_s": delay_s}))
        name, box = f"scripted:{script}", SecretBox(b"k" * 32)
        self.database = Database(SqliteStore(folder / "odyssey.db"))
        settings = ModelSettings(names=frozenset({name}), at_once=AT_ONCE)
        way = ModelTransport(AddressPolicy())
        clients = OpenedModels(self.database, box, settings, Transports(own=way, guarded=way))
        hidden = ModelSecrets(self.database, box, {"OPENAI_API_KEY": "sk-" + "x" * 48})
        names = {Purpose.SIMULATOR: name}
        self.models = Models(self.database, clients, names, now=lambda: NOW, redaction_of=hidden.redaction_of)
        self._box = box

    async def open(self) -> "Asking":
        sealed = self._box.seal("a-secret-of-the-shop", row=row_of(1, "SHOP"))
        await self.database.write(lambda connection: add_org(connection, "one", NOW))
        await self.database.write(
            lambda connection: set_credential(connection, org_id=1, name="SHOP", sealed_value=sealed, now=NOW)
        )
        return self

    async def ask(self, asked: ModelQuestion) -> None:
        await self.models.ask(Asker(org_id=1), asked)

    async def close(self) -> None:
        await self.models.close()
        await self.database.close()


async def measured_asking(folder: Path, questions: int) -> dict[str, float]:
    """Milliseconds of ours for one question, and for one that was answered before."""
    asking = await Asking(folder).open()
    await asking.ask(question(-1))
    made = [question(number) for number in range(questions)]
    figures: dict[str, float] = {"question_bytes": len(made[0].messages[0].content), "questions": questions}
    for which in ("asked", "replayed"):
        took, began_cpu = [], time.process_time()
        for each in made:
            began = time.perf_counter()
            await asking.ask(each)
            took.append(time.perf_counter() - began)
        figures[f"{which}_ms"] = round(statistics.median(took) * 1000, 2)
        figures[f"{which}_cpu_ms"] = round((time.process_time() - began_cpu) / questions * 1000, 2)
    await asking.close()
    return figures


async def measured_batch(folder: Path, questions: int) -> dict[str, float]:
    asking = await Asking(folder, delay_s=MODEL_S).open()
    began = time.perf_counter()
    await asyncio.gather(*[asking.ask(question(number, is_large=False)) for number in range(questions)])
    took = time.perf_counter() - began
    await asking.close()
    ideal = questions / AT_ONCE * MODEL_S
    return {
        "questions": questions,
        "took_s": round(took, 2),
        "ideal_s": ideal,
        "of_ideal": round(ideal / took, 3),
    }


async def measured_wire(questions: int) -> dict[str, float]:
    """Milliseconds: a question over a provider's client, and the bare request with the same body."""
    message = {"role": "assistant", "content": json.dumps(ANSWER)}
    body = dumps(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }
    )
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(lines.partition("content-length: ")[2].split("\r\n")[0])
                await reader.readexactly(length)
                writer.write(head + body)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**22)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    name = read_model_name(f"{url}#m", "", [])
    assert name is not None
    way = ModelTransport(AddressPolicy(allow_private=True))
    client = open_model(name, key=None, transport=way)
    bare_client = httpx2.AsyncClient()
    asked = question(0)
    sent = {"model": "m", "messages": [{"role": "user", "content": asked.messages[0].content}]}
    ours, bare = [], []
    await client.ask(asked)
    for _ in range(questions):
        began = time.perf_counter()
        await client.ask(asked)
        between = time.perf_counter()
        (await bare_client.post(f"{url}/chat/completions", json=sent)).json()
        ours.append(between - began)
        bare.append(time.perf_counter() - between)
    await bare_client.aclose()
    await way.aclose()
    server.close()
    ours_ms, bare_ms = (statistics.median(each) * 1000 for each in (ours, bare))
    return {
        "client_ms": round(ours_ms, 2),
        "bare_ms": round(bare_ms, 2),
        "added_ms": round(ours_ms - bare_ms, 2),
    }


def measured_imports(folder: Path) -> dict[str, float]:
    """The fastest of five each: a start-up that the machine let run."""
    times: dict[str, list[float]] = {"": [], "openai:gpt-5-mini": []}
    loaded = 0
    for _ in range(5):
        for model, taken in times.items():
            done = subprocess.run(
                [sys.executable, "-c", IMPORTS, model, str(folder)],
                capture_output=True,
                text=True,
                check=True,
            )
            seconds, modules = done.stdout.split()
            taken.append(float(seconds))
            loaded += int(modules)
    without, with_model = (min(each) for each in times.values())
    return {
        "without_s": round(without, 3),
        "with_s": round(with_model, 3),
        "ratio": round(with_model / without, 2),
        "provider_modules": loaded,
    }


async def measure(questions: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        return {
            "asking": await measured_asking(Path(first), questions),
            "batch": await measured_batch(Path(second), AT_ONCE * 10),
            "wire": await measured_wire(questions),
            "imports": measured_imports(Path(first)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = asyncio.run(measure(given.questions))
    if given.json:
        print(json.dumps(found))
        return
    for name, figures in found.items():
        print(f"{name}: " + ", ".join(f"{key} {value:,}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
