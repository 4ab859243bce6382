"""Times of recordings, as our timestamps are written: UTC, fixed width, so that they sort as texts."""

from datetime import UTC, datetime, timedelta

from pipelines.core.text.json_text import Json


def format_moment(value: Json) -> str | None:
    """Of an ISO-8601 text; without a zone it is UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return _format(aware.astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def moment_of_ns(nanoseconds: int) -> str | None:
    """Of nanoseconds since 1970; 0 is not told."""
    if nanoseconds <= 0:
        return None
    try:
        return _format(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1_000))
    except OverflowError:
        return None


def _format(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
