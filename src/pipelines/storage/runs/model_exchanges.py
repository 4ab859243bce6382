"""What models were asked and answered, and what it cost. A row is there before its question is sent."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pipelines.core.models.model_question import NANO, Failure, Purpose, cost_usd
from pipelines.storage.database.connection import Connection, Row, insert, insert_row
from pipelines.storage.database.paging import Filter, Page
from pipelines.storage.database.records import Mapper
from pipelines.wire.records import Hidden, Id, Moment, Named, Record, Via, one_of

ASKED = "asked"  # sent, or about to be; what a kill leaves: it may have been paid for
ANSWERED = "answered"
FAILED = "failed"
REPLAYED = "replayed"  # answered before: nothing was sent
MOST_COUNTED = 10_000  # exchanges of an org that a sum looks at, the newest first


@dataclass(frozen=True, kw_only=True, slots=True)
class NewExchange:
    org_id: int
    run_id: int | None
    batch_id: int | None
    subject: str | None  # what it belongs to that is no run, such as "dataset 12"
    purpose: str
    model: str
    prompt_version: str
    question_key: str
    request: str | None
    budget_id: int | None = None  # of work that is no batch
    #: What it may cost at most; counts as spent until it is known what it did cost.
    reserved_tokens: int = 0
    reserved_nanousd: int = 0


class Outcome(NamedTuple):
    """What came of a question that was sent."""

    status: str
    answer: str | None
    failure: str | None
    problem: str | None
    requests: int
    input_tokens: int | None
    output_tokens: int | None
    cost_nanousd: Annotated[int | None, Named("cost_usd"), Via(cost_usd), "null: nobody knows"]
    latency_ms: int
    perhaps_paid: int  # requests before the last that brought nothing and may have been billed


class Spent(NamedTuple):
    """Of a batch, and what it may."""

    tokens: int
    nanousd: int
    max_tokens: int | None
    max_nanousd: int | None

    @property
    def is_used_up(self) -> bool:
        by_tokens = self.max_tokens is not None and self.tokens >= self.max_tokens
        return by_tokens or self.is_over_cost

    @property
    def is_over_cost(self) -> bool:
        return self.max_nanousd is not None and self.nanousd >= self.max_nanousd


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange(Record):
    """A question to a model, without its texts."""

    id: Id
    org_id: Hidden[int]
    run_id: Id | None
    batch_id: Annotated[Id | None, "whose budget pays for it"]
    subject: Annotated[str | None, "what it was asked for, where that is no run"]
    purpose: Annotated[str, one_of(Purpose)]
    model: str
    prompt_version: Annotated[str, "names the text of the instructions"]
    question_key: Hidden[str]
    status: Annotated[
        Annotated[str, one_of(("asked", "answered", "failed", "replayed"))],
        "replayed: answered before, and not sent again",
    ]
    request: Hidden[str | None]
    answer: Hidden[str | None]
    failure: Annotated[Annotated[str, one_of(Failure)] | None, "why there is no answer"]
    problem: Annotated[str | None, "what was wrong with the answer, or why there is none"]
    replay_of: Annotated[Id | None, "the exchange whose answer it got"]
    requests: Annotated[int, "sent for it, retries included"]
    input_tokens: int | None
    output_tokens: int | None
    cost_nanousd: Annotated[int | None, Named("cost_usd"), Via(cost_usd), "null: nobody knows"]
    latency_ms: int | None
    created_at: Moment


_NEW_EXCHANGE = Mapper(NewExchange)
_EXCHANGE = Mapper(Exchange)
_OUTCOME = ", ".join(f"{name} = ?" for name in Outcome._fields[:-1])


def add_exchange(connection: Connection, new: NewExchange, *, now: str) -> int | None:
    """Its id; None where whoever pays has nothing left. Reserving and looking are one statement: of two
    workers at the edge one is refused."""
    for table, id in _payers(new):
        inserted = connection.execute(
            f"UPDATE {table} SET model_tokens = model_tokens + ?, model_cost_nanousd = model_cost_nanousd + ?"
            " WHERE id = ? AND (max_model_tokens IS NULL OR model_tokens < max_model_tokens)"
            " AND (max_cost_nanousd IS NULL OR model_cost_nanousd < max_cost_nanousd)",
            (new.reserved_tokens, new.reserved_nanousd, id),
        )
        if inserted.rowcount == 0:
            return None
    return _insert(connection, new, ASKED, None, now)


def _payers(new: NewExchange) -> list[tuple[str, int]]:
    """Tables that count what is spent, and the row of each: a question is a batch's or a budget's."""
    named = (("batches", new.batch_id), ("model_budgets", new.budget_id))
    return [(table, id) for table, id in named if id is not None]


def add_replay(connection: Connection, new: NewExchange, replay_of: int, *, now: str) -> int:
    return _insert(connection, new, REPLAYED, replay_of, now)


def _insert(connection: Connection, new: NewExchange, status: str, replay_of: int | None, now: str) -> int:
    own = {"status": status, "replay_of": replay_of, "requests": 0, "created_at": now}
    return insert(connection, "model_exchanges", _NEW_EXCHANGE.row(new) | own)


def end_exchange(connection: Connection, exchange_id: int, new: NewExchange, outcome: Outcome) -> None:
    """What it did cost stands in place of what was reserved; where nobody knows, the reserve stays, once for
    each request."""
    connection.execute(
        f"UPDATE model_exchanges SET {_OUTCOME} WHERE id = ?",
        (*outcome[:-1], exchange_id),
    )
    unknown = outcome.perhaps_paid
    known = [count for count in (outcome.input_tokens, outcome.output_tokens) if count is not None]
    tokens = sum(known) - new.reserved_tokens if known else 0
    nanousd = outcome.cost_nanousd - new.reserved_nanousd if outcome.cost_nanousd is not None else 0
    tokens, nanousd = tokens + unknown * new.reserved_tokens, nanousd + unknown * new.reserved_nanousd
    for table, id in _payers(new):
        connection.execute(
            f"UPDATE {table} SET model_tokens = model_tokens + ?, model_cost_nanousd = model_cost_nanousd + ?"
            " WHERE id = ?",
            (tokens, nanousd, id),
        )


def keep_answer(connection: Connection, *, org_id: int, question_key: str, exchange_id: int) -> int:
    """The exchange whose answer everybody gets: the first one that was kept."""
    row = {"org_id": org_id, "question_key": question_key, "exchange_id": exchange_id}
    insert_row(connection, "model_answers", row, "ON CONFLICT (org_id, question_key) DO NOTHING")
    found = kept_answer(connection, org_id=org_id, question_key=question_key)
    assert found is not None
    return found.id


def kept_answer(connection: Connection, *, org_id: int, question_key: str) -> Exchange | None:
    return _EXCHANGE.one(
        connection,
        f"SELECT {_EXCHANGE.columns_of('e')} FROM model_answers a"
        " JOIN model_exchanges e ON e.id = a.exchange_id WHERE a.org_id = ? AND a.question_key = ?",
        (org_id, question_key),
    )


def exchange_by_id(connection: Connection, *, org_id: int, exchange_id: int) -> Exchange | None:
    statement = f"SELECT {_EXCHANGE.columns} FROM model_exchanges WHERE org_id = ? AND id = ?"
    return _EXCHANGE.one(connection, statement, (org_id, exchange_id))


def exchanges_of_run(
    connection: Connection, *, org_id: int, run_id: int, limit: int, before_id: int | None = None
) -> Page[Exchange]:
    """The newest first."""
    filters = [Filter("org_id", org_id), Filter("run_id", run_id)]
    return _EXCHANGE.page(connection, "model_exchanges", filters=filters, limit=limit, before_id=before_id)


class PurposeCost(NamedTuple):
    """What was asked of models for one purpose. Counts are of what is known."""

    purpose: str
    questions: int  # that were sent, regenerations among them
    replayed: int  # answered before, and not sent again
    requests: int  # retries among them
    tokens: int
    nanousd: int
    unpriced: int  # questions of which nobody knows what they cost
    model: str = ""

    @property
    def dollars(self) -> float:
        return self.nanousd / NANO


def costs_of_run(connection: Connection, run_id: int) -> list[PurposeCost]:
    return _costs(connection, "run_id", run_id)


def costs_of_batch(connection: Connection, batch_id: int) -> list[PurposeCost]:
    return _costs(connection, "batch_id", batch_id)


def costs_of_budget(connection: Connection, budget_id: int) -> list[PurposeCost]:
    return _costs(connection, "budget_id", budget_id)


_SUMS = (
    "SUM(CASE WHEN replay_of IS NULL THEN 1 ELSE 0 END), SUM(CASE WHEN replay_of IS NULL THEN 0 ELSE 1 END),"
    " SUM(requests), SUM(COALESCE(input_tokens, 0) + COALESCE(output_tokens, 0)),"
    " SUM(COALESCE(cost_nanousd, 0)),"
    " SUM(CASE WHEN replay_of IS NULL AND cost_nanousd IS NULL THEN 1 ELSE 0 END)"
)


def _costs(connection: Connection, column: str, id: int) -> list[PurposeCost]:
    rows = connection.execute(
        f"SELECT purpose, {_SUMS} FROM model_exchanges WHERE {column} = ? GROUP BY purpose ORDER BY purpose",
        (id,),
    )
    return [_cost(row) for row in rows]


def _cost(row: Row, model: str = "") -> PurposeCost:
    """Sums are Decimals to Postgres."""
    return PurposeCost._make((row[0], *map(int, row[1:7]), model))


def costs_of_org(connection: Connection, org_id: int) -> list[PurposeCost]:
    """By purpose and model, of the latest questions; the dearest first."""
    rows = connection.execute(
        f"SELECT purpose, {_SUMS}, model FROM (SELECT * FROM model_exchanges WHERE org_id = ?"
        " ORDER BY id DESC LIMIT ?) AS latest GROUP BY purpose, model ORDER BY 6 DESC, 5 DESC, 1",
        (org_id, MOST_COUNTED),
    )
    return [_cost(row, model=row[7]) for row in rows]


class RunSpent(NamedTuple):
    """What models were asked for one run."""

    tokens: int
    nanousd: int
    is_priced: bool


def spent_before(connection: Connection, *, org_id: int, agent_id: int, most: int) -> list[RunSpent]:
    """Of an agent's latest runs that were sent and ended; those that asked nothing among them."""
    rows = connection.execute(
        "SELECT COALESCE(SUM(COALESCE(e.input_tokens, 0) + COALESCE(e.output_tokens, 0)), 0),"
        " COALESCE(SUM(COALESCE(e.cost_nanousd, 0)), 0),"
        " COALESCE(SUM(CASE WHEN e.replay_of IS NULL AND e.cost_nanousd IS NULL AND e.id IS NOT NULL"
        " THEN 1 ELSE 0 END), 0)"
        " FROM (SELECT id FROM runs WHERE agent_id = ? AND org_id = ? AND status IN ('completed', 'failed')"
        " AND dispatched_at IS NOT NULL ORDER BY id DESC LIMIT ?) AS r"
        " LEFT JOIN model_exchanges e ON e.run_id = r.id GROUP BY r.id",
        (agent_id, org_id, most),
    )
    return [RunSpent(int(row[0]), int(row[1]), not row[2]) for row in rows]
