"""Reads form fields that hold JSON as strictly as the API reads its bodies, and sorts problems by field."""

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping

from fastapi import Request

from pipelines.core.text.json_text import InvalidJson, Json, JsonObject, loads, loads_own
from pipelines.core.text.problems import Problem, Refused, said_of
from pipelines.processes.pool import Job, TookTooMuch
from pipelines.server.api.common import MAX_ID, MOST_VALUES, READING_S, SMALL_BODY_BYTES, platform_of
from pipelines.server.errors import status_of
from pipelines.wire.errors import OdysseyError
from pipelines.wire.names import MAX_BODY_BYTES

MOST_TEXT = MAX_BODY_BYTES * 8  # bytes, as much as the body of an agent may have
_DOLLARS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_ROOM = 4  # times its text, what a value may take when it is handed back


def number_in(text: str) -> int | None:
    """A positive row number; None for any other text, however many digits it has."""
    is_short = len(text) <= len(str(MAX_ID)) and text.isascii() and text.isdigit()
    return int(text) if is_short and 0 < int(text) <= MAX_ID else None


def budget_in(form: Mapping[str, str]) -> JsonObject:
    """The budget of a form as the API takes it. A value that is not a number stays text, and the API refuses
    it."""
    body: JsonObject = {}
    if tokens := form.get("max_model_tokens", "").strip():
        body["max_model_tokens"] = number_in(tokens) or tokens[:40]
    if dollars := form.get("max_cost_usd", "").strip():
        body["max_cost_usd"] = float(dollars) if _DOLLARS.fullmatch(dollars) else dollars[:40]
    return body


async def read_json_text(request: Request, text: str, path: str) -> Json:
    """The JSON value of a field; raises Refused if it is not JSON. A helper process reads large texts."""
    data = text.encode()
    if len(data) > MOST_TEXT:
        raise Refused([Problem(path=path, message=f"is over {MOST_TEXT // 2**20} MiB")], "the form")
    try:
        return loads(data) if len(data) <= SMALL_BODY_BYTES else await _read_aside(request, data)
    except InvalidJson as error:
        hint = "check for a missing comma or quote there"
        raise Refused([Problem(path=path, message=f"is not JSON: {error}", hint=hint)], "the form") from None
    except TookTooMuch as error:
        raise Refused([Problem(path=path, message=f"was not read: {error}")], "the form") from None


async def _read_aside(request: Request, data: bytes) -> Json:
    job = Job("read_json", {"most_values": MOST_VALUES}, READING_S, MOST_TEXT * _ROOM)
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        (text,) = await platform_of(request).helpers.run(job, file, owner=request.state.org_id)
    return loads_own(text)


def problems_in(error: Refused | OdysseyError) -> list[Problem]:
    """The problems of a refused form; any other error is one problem of the whole form."""
    return error.problems if isinstance(error, Refused) else [Problem(path="", message=error.message)]


def refusal_status(error: Refused | OdysseyError) -> int:
    return 422 if isinstance(error, Refused) else status_of(type(error))


def number_or_text(text: str) -> Json:
    """A text that is no number stays text, so that the API reports it with the other problems."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text


def problems_by_field(problems: Iterable[Problem], fields: Iterable[str]) -> dict[str, list[JsonObject]]:
    """The problems by field; those of no known field are listed under ""."""
    known = set(fields)
    found: dict[str, list[JsonObject]] = defaultdict(list)
    for problem in problems:
        first, _, rest = problem.path.removeprefix("/").partition("/")
        if first in known:
            shown_problem: JsonObject = {
                "path": "",
                "message": said_of(f"/{rest}" if rest else "", problem.message),
            }
            found[first].append(shown_problem | _hint(problem))
        else:
            found[""].append(problem.as_json())
    return found


def _hint(problem: Problem) -> JsonObject:
    return {"hint": problem.hint} if problem.hint is not None else {}
