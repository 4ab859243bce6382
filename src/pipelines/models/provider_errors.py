"""What a provider's client raises, as what it means for the question."""

import email.utils
import re
import time
from collections.abc import Iterator, Mapping

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelTimeoutError,
)

from pipelines.core.models.model_question import Failure, ModelCallFailed
from pipelines.core.text.json_text import dumps

LONGEST_SAID = 300
_BY_STATUS = {401: Failure.AUTH, 403: Failure.AUTH, 404: Failure.UNKNOWN_MODEL, 429: Failure.RATE_LIMITED}
_PASSING = (408, 409, 429)  # besides 5xx
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")


def nothing_of(error: Exception, *, key: str | None) -> ModelCallFailed:
    """Keys never stand in it: a provider may repeat them."""
    for cause in _causes(error):
        if isinstance(cause, ModelCallFailed):  # found out by the transport
            return cause
    if isinstance(error, ModelHTTPError):
        return _of_status(error, key)
    if isinstance(error, ContentFilterError):
        return ModelCallFailed(Failure.REFUSED, "the provider declined to answer")
    if isinstance(error, ModelTimeoutError):
        return ModelCallFailed(Failure.TIMEOUT, "it did not answer in time")
    if isinstance(error, ModelConnectionError):
        return ModelCallFailed(Failure.UNAVAILABLE, "the connection broke", is_worth_retry=True)
    first, _, _ = str(error).partition("\n")
    text = _without(f"{type(error).__name__}: {first}"[:LONGEST_SAID], key)
    return ModelCallFailed(Failure.UNAVAILABLE, f"what came back is not an answer of its API ({text})")


def _of_status(error: ModelHTTPError, key: str | None) -> ModelCallFailed:
    """A refused request was not billed. A 5xx may have been: nobody says."""
    status = error.status_code
    if status < 400:  # a 200 whose body is something else
        return ModelCallFailed(
            Failure.UNAVAILABLE, f"what came back is not an answer of its API (status {status})"
        )
    is_passing = (status in _PASSING or status >= 500) and not isinstance(error, ModelQuotaExceededError)
    failure = _BY_STATUS.get(status, Failure.UNAVAILABLE if is_passing else Failure.BAD_REQUEST)
    if isinstance(error, ModelContextWindowExceededError):
        failure = Failure.BAD_REQUEST
    return ModelCallFailed(
        failure,
        f"it answered with status {status}: {_without(_error_message(error.body), key)}",
        tokens=0 if status < 500 else None,
        is_worth_retry=is_passing,
        retry_after_s=_retry_after(error.headers or {}),
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _error_message(body: object) -> str:
    """The provider's sentence, where it has the usual shape."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    message = inner.get("message", inner) if isinstance(inner, Mapping) else inner
    text = message if isinstance(message, str) else dumps(message).decode() if message is not None else ""
    return " ".join(text.split())[:LONGEST_SAID] or "no reason given"


def _without(text: str, key: str | None) -> str:
    return text.replace(key, "[key]") if key else text


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, or a date, as RFC 9110 has both; milliseconds, as some providers do."""
    in_ms = headers.get("retry-after-ms", "")
    if _SECONDS.fullmatch(in_ms):
        return float(in_ms) / 1000
    value = headers.get("retry-after", "")
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
