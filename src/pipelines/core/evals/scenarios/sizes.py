"""Size limits for the parts of a scenario, and a check that they can be stored as JSON."""

from pipelines.core.text.json_text import MAX_DEPTH, Json, count_values, depth, dumps
from pipelines.core.text.problems import Problem

LARGEST_PART = 64 * 1024  # bytes as JSON: the input is shown to people, and noise of ten times it is made
MOST_VALUES = 5_000  # in one part: each leaf of an expectation is a row in a report


def json_problem(value: Json, path: str, what: str) -> Problem | None:
    """What keeps a value from being stored: too large, too deep, or nothing that JSON can say."""
    if depth(value) > MAX_DEPTH:
        return Problem(path=path, message=f"{what} is nested deeper than {MAX_DEPTH} levels")
    if count_values(value, MOST_VALUES) > MOST_VALUES:
        return Problem(path=path, message=f"{what} has more than {MOST_VALUES:,} values")
    try:
        size = len(dumps(value))
    except TypeError:  # a file can say more than JSON can: half a surrogate pair, a number of 60 digits
        message = f"{what} has text that is not UTF-8, or an integer of more than 64 bits"
        return Problem(path=path, message=message)
    if size > LARGEST_PART:
        size_text = f"{size:,} bytes as JSON; at most {LARGEST_PART:,} are allowed"
        return Problem(path=path, message=f"{what} has {size_text}")
    return None
