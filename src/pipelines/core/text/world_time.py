"""What time it is in a run's world, as authors write it: ISO-8601, in UTC where no zone is given."""

import re
from datetime import UTC, datetime

from pipelines.core.text.authored import Fields

_HINT = "for example 2026-05-01T12:00:00Z"


def read_now(fields: Fields) -> str | None:
    """The field `now` as a UTC timestamp. Blank counts as not given, as in a spreadsheet."""
    given = fields.get("now")
    if given is None or (isinstance(given, str) and not given.strip()):
        return None
    moment = _moment(given.strip()) if isinstance(given, str) else None
    if moment is None:
        fields.refuse("now", "`now` must be an ISO-8601 time", _HINT)
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _moment(text: str) -> datetime | None:
    # fromisoformat also takes week dates and the like; a run's time is one everybody can read.
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year < datetime.max.year else None  # the run's clock goes on from here
