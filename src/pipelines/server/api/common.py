"""Helpers of every endpoint: authentication, strict reading of bodies, and paging of lists."""

import asyncio
import base64
import binascii
import tempfile
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import IO, Annotated, Any, Literal, TypeVar

from fastapi import Depends, Query, Request, Response
from fastapi.params import Depends as DependsOn
from fastapi.params import Path as PathParam

from pipelines.core.access.identity import Identity
from pipelines.core.access.tokens import is_like_token
from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, dumps, loads, loads_own
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.platform import Platform, timestamp
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.server.query_names import check_query
from pipelines.server.tokens import Tokens, takes_tokens
from pipelines.storage.accounts.keys import key_by_secret
from pipelines.storage.database.connection import Connection
from pipelines.storage.database.database import WORKS_FOR
from pipelines.storage.database.paging import Page
from pipelines.wire.errors import (
    BodyTooLarge,
    Forbidden,
    InvalidApiKey,
    InvalidCursor,
    InvalidJsonBody,
    IssuerUnavailable,
    MissingApiKey,
    StorageUnavailable,
    Unauthorized,
    UnsupportedMediaType,
)
from pipelines.wire.names import API_V1, MAX_BODY_BYTES, OTLP_TRACES, Role
from pipelines.wire.records import Record

T = TypeVar("T")
Shown = TypeVar("Shown", bound=Record | JsonObject)
MAX_ID = 2**63 - 1
MAX_PAGE = 500
BRIEF_PAGE = 100  # rows of a list that are read on the event loop: about 2 ms
SMALL_BODY_BYTES = 256 * 1024  # read on the event loop: 50 ms at worst
MOST_VALUES = 250_000  # in a body: parsing this many holds the interpreter for about 40 ms
READING_S = 10.0  # for a helper process to read a body; hostile 8 MiB take two seconds
_WRITTEN_AT_ONCE = 1024 * 1024

_MISSING_BOTH = (
    "Send an API key as 'Authorization: Bearer pk_live_…' or 'X-API-Key: pk_live_…',"
    " or a token (`pipelines token`, or your issuer's) as 'Authorization: Bearer …'."
)
_RANK = {Role.VIEWER: 0, Role.CONTRIBUTOR: 1, Role.ADMIN: 2, Role.OWNER: 3}


def platform_of(request: Request) -> Platform:
    platform: Platform = request.app.state.platform
    return platform


async def _identity_of(request: Request) -> Identity:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    secret = credentials.strip() if scheme.lower() == "bearer" else ""
    secret = secret or request.headers.get("x-api-key", "").strip()
    if not secret:
        raise MissingApiKey(_MISSING_BOTH if takes_tokens(request.url.path) else None)
    if is_like_token(secret):
        if not takes_tokens(request.url.path):
            raise InvalidApiKey(
                f"Tokens are accepted only under {API_V1} and at {OTLP_TRACES}. Send an API key here."
            )
        tokens: Tokens = request.app.state.tokens
        return await tokens.bearer(secret)
    return await identity_by_secret(platform_of(request), secret)


async def identity_by_secret(platform: Platform, secret: str) -> Identity:
    key = await platform.database.read_briefly(lambda connection: key_by_secret(connection, secret), "key")
    if key is None:
        raise InvalidApiKey
    return key


async def is_still_known(request: Request) -> bool:
    """Whether the credential of a long response is still valid. Storage and issuer failures count as
    valid."""
    try:
        await _identity_of(request)
    except (Unauthorized, Forbidden):
        return False
    except (StorageUnavailable, IssuerUnavailable):
        pass
    return True


def at_least(identity: Identity, role: Role) -> bool:
    return _RANK[identity.role] >= _RANK[role]


def note_org(request: Request, org_id: int) -> None:
    """Notes the org for which the rest of the request works."""
    request.state.org_id = org_id
    WORKS_FOR.set(org_id)


def _needs(role: Role) -> DependsOn:
    async def check(request: Request) -> Identity:
        asking = await _identity_of(request)
        note_org(request, asking.org_id)
        if not at_least(asking, role):
            raise Forbidden(
                f"This {asking.credential} has the role {asking.role.value}."
                f" This request needs the role {role.value}."
            )
        check_query(request)
        return asking

    return Depends(check)  # type: ignore[no-any-return]


def runner_of(request: Request) -> BatchRunner:
    runner: BatchRunner = request.app.state.runner
    return runner


def at_once(part_of: Callable[[Request], T]) -> DependsOn:
    """A dependency that only looks something up. For a plain function FastAPI asks a thread, which costs a
    request several turns of the loop."""

    async def part(request: Request) -> T:
        return part_of(request)

    return Depends(part)  # type: ignore[no-any-return]


Runner = Annotated[BatchRunner, at_once(runner_of)]
Ours = Annotated[Platform, at_once(platform_of)]
ANY_KEY = _needs(Role.VIEWER)
Viewer = Annotated[Identity, ANY_KEY]
Contributor = Annotated[Identity, _needs(Role.CONTRIBUTOR)]
Admin = Annotated[Identity, _needs(Role.ADMIN)]
Id = Annotated[int, PathParam(ge=1, le=MAX_ID)]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="rows in a page")]
Cursor = Annotated[str | None, Query(description="next_cursor of the page before")]
JudgedBy = Annotated[
    Literal["own", "present"], Query(description="the oracle the run was given, or its task's present one")
]
OptionalId = Annotated[int | None, Query(ge=1, le=MAX_ID)]


def json_body(schema: JsonObject, *, required: bool = True) -> dict[str, Any]:
    """The OpenAPI description of a body that `read_json` reads: `openapi_extra=json_body(…)`."""
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def check_is_json(request: Request) -> None:
    kind = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise UnsupportedMediaType(f"The body must be application/json, not {kind[:100]}.")


async def read_json(request: Request, *, limit: int = MAX_BODY_BYTES) -> Json:
    check_is_json(request)
    body = await read_body(request, limit)
    try:
        return loads(body) if isinstance(body, bytes) else await _read_aside(request, body)
    except InvalidJson as error:
        raise InvalidJsonBody(f"The body cannot be read: {error}.") from None
    except TookTooMuch as error:
        raise unreadable(error) from None
    finally:
        if not isinstance(body, bytes):
            body.close()


async def _read_aside(request: Request, body: IO[bytes]) -> Json:
    """Reads the body in a helper process, which returns it in a form that is quick to read."""
    job = Job("read_json", {"most_values": MOST_VALUES}, READING_S, 8 * MAX_BODY_BYTES * 4)
    (text,) = await platform_of(request).helpers.run(job, body, owner=request.state.org_id)
    return loads_own(text)


def unreadable(error: TookTooMuch) -> BodyTooLarge:
    return BodyTooLarge(f"The body could not be read: {error}. Send it in smaller parts.")


async def read_body(request: Request, limit: int) -> bytes | IO[bytes]:
    """A large body goes to a file while it arrives: however many come at once, memory does not hold them."""
    parts: list[bytes] = []
    file: IO[bytes] | None = None
    held = 0
    try:
        async for part in limited(request, limit):
            parts.append(part)
            held += len(part)
            if held > (_WRITTEN_AT_ONCE if file is not None else SMALL_BODY_BYTES):
                file = file or tempfile.TemporaryFile()  # noqa: SIM115 - whoever gets it closes it
                await asyncio.to_thread(file.write, b"".join(parts))
                parts, held = [], 0
        if file is None:
            return b"".join(parts)
        await asyncio.to_thread(file.write, b"".join(parts))
    except BaseException:
        if file is not None:
            file.close()
        raise
    return file


async def read_json_object(request: Request, *, limit: int = MAX_BODY_BYTES) -> JsonObject:
    body = await read_json(request, limit=limit)
    if not isinstance(body, dict):
        raise Refused([Problem(path="", message="must be a JSON object")], "the body")
    return body


async def read_optional_object(request: Request) -> JsonObject:
    """The JSON object of an optional body; empty if there is no body."""
    if request.headers.get("content-length") == "0" or (
        "content-length" not in request.headers and "transfer-encoding" not in request.headers
    ):
        return {}
    return await read_json_object(request)


async def limited(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    """The body in chunks. Stops at the limit, without reading the rest."""
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise BodyTooLarge(f"The body is over {limit // (1024 * 1024)} MiB.")
        yield part


def answer(value: object, status: int = 200) -> Response:
    body = value.as_json() if isinstance(value, Record) else value
    return Response(dumps(body), status, media_type="application/json")


async def read_page(
    platform: Platform, question: Callable[[Connection], Page[T]], limit: int, kind: tuple[str, int]
) -> Page[T]:
    """Of a list that goes down an index. A short page waits for no thread, so that it is as quick beside a
    batch as when nothing runs."""
    if limit > BRIEF_PAGE:
        return await platform.database.read(question)
    return await platform.database.read_briefly(question, kind)


def answer_page(page: Page[Shown]) -> Response:
    cursor = encode_cursor(str(page.last_id)) if page.last_id is not None else None
    items = [item.as_json() if isinstance(item, Record) else item for item in page.items]
    return answer({"items": items, "next_cursor": cursor})


def encode_cursor(place: str) -> str:
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, UnicodeError):
        raise InvalidCursor from None


def id_cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    return cursor_number(decode_cursor(cursor))


def read_moment(name: str, text: str | None) -> str | None:
    """Parses a time of a query into the stored form: UTC, so that timestamps compare as texts."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return timestamp(moment.astimezone(UTC) if moment.tzinfo is not None else moment)
    except (ValueError, OverflowError):
        hint = "such as 2026-11-16T12:00:00Z; write + as %2B in a URL"
        problem = Problem(path=name, message="is not an ISO 8601 time", hint=hint)
        raise Refused([problem], "the query") from None


def cursor_number(text: str) -> int:
    # Check the length first, because int() raises another error for thousands of digits.
    if len(text) > len(str(MAX_ID)) or not text.isdigit() or int(text) > MAX_ID:
        raise InvalidCursor
    return int(text)
