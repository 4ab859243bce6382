"""Asking models: which one, at whose expense, stored before and after, and never twice for the same question.

An answer is checked against its schema and by whoever asks; one that is wrong is asked for once more, told
what is wrong with it. The first usable answer to a question is kept, and everybody of the org who asks the
same of the same model gets that one: so a run repeats without a request, and byte for byte.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NoReturn, Protocol

from pipelines.core.code.redaction import Redaction
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.models.model_question import (
    Failure,
    ModelAnswer,
    ModelCallFailed,
    ModelMessage,
    ModelQuestion,
    Purpose,
)
from pipelines.core.text.json_text import JsonObject, canonical, dumps, loads_own
from pipelines.core.text.problems import Problem
from pipelines.models.client import ModelClient
from pipelines.processes.aside import aside
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import Database
from pipelines.storage.runs.model_exchanges import (
    ANSWERED,
    FAILED,
    Exchange,
    NewExchange,
    Outcome,
    add_exchange,
    add_replay,
    end_exchange,
    keep_answer,
    kept_answer,
)
from pipelines.wire.errors import BudgetExceeded, ModelFailed, ModelNotConfigured

log = logging.getLogger(__name__)
LONGEST_ANSWER = 256 * 1024  # characters; an answer is a tool reply, a verdict or a plan
LONGEST_QUESTION = 1024 * 1024
SMALL_CHARACTERS = 16 * 1024  # characters that are looked through for secrets on the event loop
LONGEST_PROBLEM = 2_000
CHARACTERS_A_TOKEN = 3  # for what is reserved: fewer than in any common text, so that it is too much
NOT_AN_OBJECT = Problem(path="", message="is not a JSON object, or it was cut off")

Check = Callable[[JsonObject], Sequence[Problem]]


class ModelClients(Protocol):
    """Opens models by their names, and keeps them open."""

    def complaint(self, model: str) -> str | None:
        """Why an org may not name it here."""

    async def is_priced(self, org_id: int, model: str) -> bool:
        """Whether it is known what it costs."""

    async def key_from(self, org_id: int, model: str) -> str | None:
        """`credential`, `server`, or None; raises ModelFailed where it needs one."""

    def client_for(self, org_id: int, model: str) -> Awaitable[ModelClient]:
        """Raises ModelFailed where it cannot be had: no key, an unknown provider, the extra not installed."""

    async def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """For whom a question is asked: who pays, and where it is shown."""

    org_id: int
    run_id: int | None = None
    batch_id: int | None = None
    subject: str | None = None  # what it belongs to that is no run, such as "dataset 12"
    budget_id: int | None = None  # that pays where no batch does
    #: What the agent or the dataset names for a purpose, stronger than the server's.
    named: Mapping[Purpose, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedAnswer:
    """An answer that passed its checks. Tokens and cost are of all that was sent for it; None: not known."""

    data: JsonObject
    model: str
    exchange_id: int  # the one with the texts
    is_replayed: bool
    attempts: int
    tokens: int | None
    cost_nanousd: int | None


class _UnusableAnswer(NamedTuple):
    exchange_id: int
    text: str
    problems: Sequence[Problem]
    tokens: int | None
    cost_nanousd: int | None


async def _no_secrets(org_id: int) -> Redaction:
    return Redaction({})


def _ignore_batch(batch_id: int) -> None:
    pass


class Models:
    """Every model of this process. Without names nothing is ever asked."""

    def __init__(
        self,
        database: Database | None = None,
        clients: ModelClients | None = None,
        names: Mapping[Purpose, str] | None = None,
        *,
        now: Callable[[], str] = lambda: "",
        redaction_of: Callable[[int], Awaitable[Redaction]] = _no_secrets,
        on_used_up: Callable[[int], None] = _ignore_batch,
    ) -> None:
        """`on_used_up` hears of a batch whose budget keeps a question from being asked."""
        self._database = database
        self._clients = clients
        self.names: Mapping[Purpose, str] = names or {}
        self._now = now
        self._redaction_of = redaction_of
        self.on_used_up = on_used_up
        self._under_way: dict[tuple[int, str], asyncio.Lock] = {}

    def model_for(self, purpose: Purpose, named: Mapping[Purpose, str] | None = None) -> str | None:
        return (named or {}).get(purpose) or self.names.get(purpose)

    def needed(self, purpose: Purpose, named: Mapping[Purpose, str] | None = None) -> str:
        """The model for a purpose. Raises ModelNotConfigured."""
        model = self.model_for(purpose, named)
        if model is None or self._clients is None:
            setting = f"PIPELINES_{purpose.value.upper()}_MODEL"
            raise ModelNotConfigured(
                f"This needs a model as {purpose.value}, and none is set: {setting} names one,"
                " or PIPELINES_MODEL one for everything.",
                details=[Problem(path="", message="needs a model", hint=f"set {setting}").as_json()],
            )
        return model

    async def key_from(self, org_id: int, model: str) -> str | None:
        """Where its key is from: the org's `credential`, the `server`, or None where it has none."""
        return await self._clients.key_from(org_id, model) if self._clients is not None else None

    async def is_priced(self, org_id: int, model: str) -> bool:
        """Whether it is known what it costs; only then does a limit in dollars hold it."""
        return self._clients is not None and await self._clients.is_priced(org_id, model)

    async def cost_nanousd(self, org_id: int, model: str, *, tokens_in: int, tokens_out: int) -> int | None:
        """What so much would cost; None where nobody knows."""
        if self._clients is None:
            return None
        client = await self._clients.client_for(org_id, model)
        return _none_if_negative(client.cost_nanousd(tokens_in, tokens_out))

    def naming_problems(self, named: Mapping[Purpose, str], path: str) -> list[Problem]:
        """What an agent or a dataset may not name on this server."""
        if self._clients is None:
            return []
        found = [(purpose, self._clients.complaint(model)) for purpose, model in named.items()]
        return [
            Problem(path=f"{path}/{purpose.value}", message=complaint)
            for purpose, complaint in found
            if complaint is not None
        ]

    async def ask(
        self, asker: Asker, question: ModelQuestion, *, check: Check | None = None
    ) -> CheckedAnswer:
        """The answer, or ModelFailed, ModelNotConfigured or BudgetExceeded.

        `check` finds what the schema cannot: references that do not exist, contradictions.
        """
        model = self.needed(question.purpose, asker.named)
        question = await self._without_secrets(asker.org_id, question)
        key = question.key(model)
        lock = self._under_way.setdefault((asker.org_id, key), asyncio.Lock())
        try:
            async with lock:  # who asks the same meanwhile gets the same
                return await self._replay(asker, question, model, key) or await self._ask_anew(
                    asker, question, model, key, check
                )
        finally:
            if not lock.locked():
                self._under_way.pop((asker.org_id, key), None)

    async def close(self) -> None:
        if self._clients is not None:
            await self._clients.close()

    async def _without_secrets(self, org_id: int, question: ModelQuestion) -> ModelQuestion:
        size = len(question.system) + sum(len(message.content) for message in question.messages)
        if size > LONGEST_QUESTION:
            message = f"The question has {size:,} characters; at most {LONGEST_QUESTION:,} are sent."
            raise ModelFailed(message, reason=Failure.TOO_LARGE.value)
        redaction = await self._redaction_of(org_id)
        if not redaction:
            return question
        return (
            _hide_secrets(question, redaction)
            if size <= SMALL_CHARACTERS
            else await aside(org_id, _hide_secrets, question, redaction)
        )

    async def _replay(
        self, asker: Asker, question: ModelQuestion, model: str, key: str
    ) -> CheckedAnswer | None:
        kept = await self._read_stored_answer(asker, key)
        if kept is None:
            return None
        new = _new_exchange(asker, question, model, key, request=None)
        now = self._now()
        await self._store.write(lambda connection: add_replay(connection, new, kept.id, now=now))
        return _replayed_answer(kept, attempts=1 if kept.question_key == key else 2)

    async def _ask_anew(
        self, asker: Asker, question: ModelQuestion, model: str, key: str, check: Check | None
    ) -> CheckedAnswer:
        first = await self._send(asker, question, model, check, keep_as=key)
        if isinstance(first, CheckedAnswer):
            return first
        again = question.again(first.text, first.problems)
        second = await self._send(asker, again, model, check, keep_as=key)
        if isinstance(second, CheckedAnswer):
            return replace(
                second,
                attempts=2,
                tokens=_sum(first.tokens, second.tokens),
                cost_nanousd=_sum(first.cost_nanousd, second.cost_nanousd),
            )
        reason = Failure.NOT_JSON if NOT_AN_OBJECT in second.problems else Failure.WRONG_SCHEMA
        raise ModelFailed(
            f"The model's two answers could not be used: {second.problems[0].said()}.",
            reason=reason.value,
            details={
                "exchange_id": second.exchange_id,
                "problems": [problem.as_json() for problem in second.problems],
            },
        )

    async def _send(
        self, asker: Asker, question: ModelQuestion, model: str, check: Check | None, *, keep_as: str
    ) -> "CheckedAnswer | _UnusableAnswer":
        """One question, stored, sent, checked and stored again; a usable answer is kept under `keep_as`."""
        assert self._clients is not None
        client = await self._clients.client_for(asker.org_id, model)
        new = _new_exchange(
            asker, question, model, question.key(model), request=_request_text(question), client=client
        )
        exchange_id = await self._begin(new)
        started = time.monotonic()
        try:
            answer = await client.ask(question)
        except ModelCallFailed as nothing:
            failure = nothing.failure.value
            ended = _outcome(FAILED, None, started, failure, str(nothing), nothing=nothing)
            await self._end(exchange_id, new, ended)
            raise ModelFailed(
                f"The model gave no answer: {nothing}.", reason=failure, details={"exchange_id": exchange_id}
            ) from None
        except asyncio.CancelledError:
            await self._end_cut_off(exchange_id, new, started)
            raise
        answer = _sanitize(answer)
        if len(answer.text) > LONGEST_ANSWER:
            await self._refuse_too_large(exchange_id, new, started, answer)
        # Agents write as much as they like into what a check looks through: not on the loop.
        found = await aside(asker.org_id, _problems, question, answer, check)
        text, tokens = answer.text, _sum(answer.input_tokens, answer.output_tokens)
        problem_text = "; ".join(each.said() for each in found)[:LONGEST_PROBLEM] or None
        if found or answer.data is None:
            await self._end(
                exchange_id, new, _outcome(FAILED, text, started, None, problem_text, answer=answer)
            )
            return _UnusableAnswer(exchange_id, text, found, tokens, answer.cost_nanousd)
        ended = _outcome(ANSWERED, text, started, None, None, answer=answer)
        if not await self._end_and_keep(exchange_id, new, ended, keep_as):
            kept = await self._read_stored_answer(asker, keep_as)  # of another node, which was first
            assert kept is not None
            return _replayed_answer(kept, attempts=1)
        return CheckedAnswer(
            data=answer.data,
            model=model,
            exchange_id=exchange_id,
            is_replayed=False,
            attempts=1,
            tokens=tokens,
            cost_nanousd=answer.cost_nanousd,
        )

    async def _refuse_too_large(
        self, exchange_id: int, new: NewExchange, started: float, answer: ModelAnswer
    ) -> NoReturn:
        """Of an answer so large the beginning is kept; asking for it again would cost as much again."""
        failure, reason = Failure.TOO_LARGE.value, f"its answer is over {LONGEST_ANSWER // 1024} KiB"
        text = answer.text[:LONGEST_ANSWER]
        await self._end(exchange_id, new, _outcome(FAILED, text, started, failure, reason, answer=answer))
        raise ModelFailed(
            f"The model gave no answer: {reason}.", reason=failure, details={"exchange_id": exchange_id}
        )

    async def _end_cut_off(self, exchange_id: int, new: NewExchange, started: float) -> None:
        """Nobody waits for the answer any more: it would be told as under way for ever. What it may have cost
        stays reserved."""
        reason = "the request was cancelled before the answer came"
        ended = _outcome(FAILED, None, started, Failure.CUT_OFF.value, reason)
        try:
            await asyncio.shield(self._end(exchange_id, new, ended))
        except Exception:  # it was cancelled all the same; what a kill leaves looks so too
            log.exception("exchange %s was cancelled, and its end could not be stored", exchange_id)

    async def _begin(self, new: NewExchange) -> int:
        now = self._now()
        exchange_id = await self._store.write(lambda connection: add_exchange(connection, new, now=now))
        if exchange_id is None:
            if new.batch_id is None:
                raise BudgetExceeded("What this session may spend on models is used up.")
            self.on_used_up(new.batch_id)
            raise BudgetExceeded
        return exchange_id

    async def _end(self, exchange_id: int, new: NewExchange, outcome: Outcome) -> None:
        await self._store.write(lambda connection: end_exchange(connection, exchange_id, new, outcome))

    async def _end_and_keep(self, exchange_id: int, new: NewExchange, outcome: Outcome, key: str) -> bool:
        """True where its answer is the one that everybody gets. One write: each waits for the disk."""

        def store(connection: Connection) -> bool:
            end_exchange(connection, exchange_id, new, outcome)
            kept = keep_answer(connection, org_id=new.org_id, question_key=key, exchange_id=exchange_id)
            return kept == exchange_id

        return await self._store.write(store)

    async def _read_stored_answer(self, asker: Asker, key: str) -> Exchange | None:
        return await self._store.read(
            lambda connection: kept_answer(connection, org_id=asker.org_id, question_key=key)
        )

    @property
    def _store(self) -> Database:
        assert self._database is not None, "asking needs a place to store it"
        return self._database


def _hide_secrets(question: ModelQuestion, redaction: Redaction) -> ModelQuestion:
    """Known secrets are not sent to anybody."""
    return ModelQuestion(
        purpose=question.purpose,
        prompt_version=question.prompt_version,
        system=redaction.text(question.system),
        messages=tuple(
            ModelMessage(role=each.role, content=redaction.text(each.content)) for each in question.messages
        ),
        schema=question.schema,
        max_output_tokens=question.max_output_tokens,
    )


def _sanitize(answer: ModelAnswer) -> ModelAnswer:
    """A count or a price below nothing is none: it must not give a budget back. The text is one that any
    database takes."""
    return replace(
        answer,
        text=answer.text.replace("\0", "\ufffd").encode("utf-8", "replace").decode(),
        input_tokens=_none_if_negative(answer.input_tokens),
        output_tokens=_none_if_negative(answer.output_tokens),
        cost_nanousd=_none_if_negative(answer.cost_nanousd),
    )


def _none_if_negative(count: int | None) -> int | None:
    return count if count is not None and count >= 0 else None


def _problems(question: ModelQuestion, answer: ModelAnswer, check: Check | None) -> Sequence[Problem]:
    if answer.data is None:
        return [NOT_AN_OBJECT]
    broken = CompiledSchema(question.schema).problems(answer.data)
    return broken or (check(answer.data) if check is not None else [])


def _new_exchange(
    asker: Asker,
    question: ModelQuestion,
    model: str,
    key: str,
    *,
    request: str | None,
    client: ModelClient | None = None,
) -> NewExchange:
    tokens_in = len(request or "") // CHARACTERS_A_TOKEN
    tokens_out = question.max_output_tokens if client is not None else 0
    cost = _none_if_negative(client.cost_nanousd(tokens_in, tokens_out)) if client is not None else 0
    return NewExchange(
        org_id=asker.org_id,
        run_id=asker.run_id,
        batch_id=asker.batch_id,
        subject=asker.subject,
        budget_id=asker.budget_id,
        purpose=question.purpose.value,
        model=model,
        prompt_version=question.prompt_version,
        question_key=key,
        request=request,
        reserved_tokens=tokens_in + tokens_out,
        reserved_nanousd=cost or 0,
    )


def _request_text(question: ModelQuestion) -> str:
    return canonical(question.as_json()).decode()


def _outcome(
    status: str,
    text: str | None,
    started: float,
    failure: str | None,
    problem: str | None,
    *,
    answer: ModelAnswer | None = None,
    nothing: ModelCallFailed | None = None,
) -> Outcome:
    """A request that brought nothing may have been paid for; its tokens are not told apart."""
    reply = answer or nothing
    return Outcome(
        status=status,
        answer=text,
        failure=failure,
        problem=problem,
        requests=reply.requests if reply is not None else 1,
        input_tokens=answer.input_tokens if answer is not None else nothing.tokens if nothing else None,
        output_tokens=answer.output_tokens if answer is not None else None,
        cost_nanousd=reply.cost_nanousd if reply is not None else None,
        latency_ms=round((time.monotonic() - started) * 1000),
        perhaps_paid=reply.perhaps_paid if reply is not None else 0,
    )


def _replayed_answer(kept: Exchange, *, attempts: int) -> CheckedAnswer:
    data = loads_own(kept.answer or "null")
    assert isinstance(data, dict), dumps(data)
    return CheckedAnswer(
        data=data,
        model=kept.model,
        exchange_id=kept.id,
        is_replayed=True,
        attempts=attempts,
        tokens=0,
        cost_nanousd=0,
    )


def _sum(*counts: int | None) -> int | None:
    """Of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
