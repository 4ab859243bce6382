"""A case, what became of it, and the server in this process that asks the model."""

import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pipelines.core.models.model_question import Purpose
from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.server.service.first_start import prepare
from pipelines.storage.runs.model_exchanges import costs_of_org
from support.desk import House, Org, answered

RIGHT, WRONG, OPEN, FAILED = "right", "wrong", "open", "failed"
WRONG_PASS, WRONG_FAIL = "wrong PASS", "wrong FAIL"
NAMED = ("MODEL", *(f"{purpose.name}_MODEL" for purpose in Purpose), "ASK_TIMEOUT_S")
JOB_WAIT_S = 20
BLIND = Path(__file__).parent.parent.parent / "tests" / "blind"

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Of one case: what came of it without a model, and with it."""

    case: str
    embedded: str
    model: str
    why: str = ""  # where it is not right

    def as_json(self) -> Row:
        return asdict(self)


class Question(NamedTuple):
    """Cases that are asked together, as a user would ask them."""

    cases: tuple[str, ...]
    ask: Callable[["Asked"], Awaitable[list[Answer]]]


class Used(NamedTuple):
    questions: int = 0
    tokens: int = 0
    nanousd: int = 0
    unpriced: int = 0

    def since(self, before: "Used") -> "Used":
        return Used._make(now - then for now, then in zip(self, before, strict=True))


class Asked:
    """A server of this process whose model is asked."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.org: Org = house.owner

    @property
    def models(self) -> Mapping[Purpose, str]:
        return self.house.platform.models.names

    async def used(self) -> Used:
        def read(connection: Any) -> Used:
            found = costs_of_org(connection, self.org.id)
            return Used(
                sum(one.questions for one in found),
                sum(one.tokens for one in found),
                sum(one.nanousd for one in found),
                sum(one.unpriced for one in found),
            )

        return await self.house.platform.database.read(read)

    async def author_job(self, path: str, body: Row) -> Row:
        """What the author model proposed, or `error`."""
        job = answered(await self.org.client.post(path, json=body), 202)
        while job["status"] == "running":
            where = f"/api/author-jobs/{job['id']}"
            job = answered(await self.org.client.get(where, params={"wait_s": JOB_WAIT_S}))
        if job["status"] == "done":
            return job["answer"]  # type: ignore[no-any-return]
        return {"items": [], "error": job["error"]["message"]}


@asynccontextmanager
async def asking(directory: Path) -> AsyncIterator[Asked]:
    """With the models and the keys of the environment; all other settings are their defaults."""
    names = {f"PIPELINES_{name}" for name in NAMED}
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PIPELINES_") or name in names
    }
    settings = load_settings(environment, data_dir=directory, proxy_rate_limit=0)
    started = prepare(settings)
    app = App(settings)
    async with app.api.router.lifespan_context(app.api):
        yield Asked(House(settings, app, started.key or started.key_file.read_text().strip()))


def drawn(cases: Iterable[T], count: int, what: str) -> list[T]:
    """Always the same of the same cases, in their order."""
    every = [*cases]
    places = random.Random(f"model quality/{what}").sample(range(len(every)), min(count, len(every)))
    return [every[place] for place in sorted(places)]


def tally(answers: Sequence[Answer]) -> dict[str, Counter[str]]:
    return {
        "embedded": Counter(one.embedded for one in answers),
        "model": Counter(one.model for one in answers),
    }


def in_groups(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    for at in range(0, len(items), most):
        yield items[at : at + most]
