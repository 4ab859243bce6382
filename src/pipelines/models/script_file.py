"""`scripted:FILE`: answers that somebody wrote down, as JSON lines or as a YAML list.

    {"purpose": "judge", "about": "order 4521", "answer": {"verdict": "PASS"}}
    {"about": ["refund", "gold"], "failure": "timeout", "times": 1}
    {"price_per_million_tokens": 2.5}

A line without `about` answers everything of its purpose. The last one says what this model costs, in dollars.
"""

from pathlib import Path

from pipelines.core.models.model_question import NANO, Failure, Purpose
from pipelines.core.text.authored import Fields, as_list, as_object, quote_names
from pipelines.core.text.json_text import InvalidJson, Json, loads, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import read_yaml
from pipelines.models.scripted import Scripted, ScriptedModel

LARGEST = 16 * 1024 * 1024
LONGEST_DELAY_S = 3_600
MILLION = 1_000_000
_FIELDS = ("about", "purpose", "answer", "failure", "times", "delay_s", "price_per_million_tokens")


def read_script(path: Path) -> ScriptedModel:
    """Refused with everything that is wrong with it."""
    problems: list[Problem] = []
    lines: list[Scripted] = []
    price: int | None = None
    for place, entry in entries_of(path, problems):
        body = as_object(entry, place, problems, "a line of a script")
        if body is None:
            continue
        fields = Fields(body, place, problems)
        fields.refuse_unknown(_FIELDS)
        if fields.has("price_per_million_tokens"):
            price = _price(fields)
        else:
            lines.append(_line(fields))
    if problems:
        raise Refused(problems, str(path))
    return ScriptedModel(lines, nanousd_a_token=price)


def entries_of(path: Path, problems: list[Problem]) -> list[tuple[str, Json]]:
    """What stands in a file of JSON lines, or of YAML, each with its place."""
    text = file_text(path)
    if text.lstrip().startswith("{"):
        return _json_lines(text, problems)
    read = read_yaml(text, what="script", most_bytes=LARGEST)
    entries = as_list(read.value if read.value is not None else [], "", problems, "a script")
    return [(pointer([number]), entry) for number, entry in enumerate(entries or ())]


def file_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        message = f"cannot be read: {error.strerror or 'it cannot be opened'}"
        raise Refused([Problem(path=str(path), message=message)], str(path)) from None
    if len(raw) > LARGEST:
        message = f"is over {LARGEST >> 20} MiB"
        raise Refused([Problem(path=str(path), message=message)], str(path))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused([Problem(path=str(path), message="is not UTF-8 text")], str(path)) from None


def _json_lines(text: str, problems: list[Problem]) -> list[tuple[str, Json]]:
    found: list[tuple[str, Json]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            found.append((f"line {number}", loads(line)))
        except InvalidJson as error:
            problems.append(Problem(path=f"line {number}", message=error.predicate))
    return found


def _line(fields: Fields) -> Scripted:
    if fields.has("failure") == ("answer" in fields.body):
        fields.refuse("answer", "a line has either an `answer` or a `failure`")
    failure = fields.choice("failure", [each.value for each in Failure])
    about = fields.get("about")
    times = fields.whole_number("times", 0, least=1)
    return Scripted(
        answer=Failure(failure) if failure is not None else fields.get("answer"),
        about=fields.texts("about") if isinstance(about, list) else fields.text("about") or (),
        purpose=fields.choice("purpose", [each.value for each in Purpose]),
        times=times or None,
        delay_s=_delay(fields),
    )


def _delay(fields: Fields) -> float:
    value = fields.get("delay_s")
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_DELAY_S:
        fields.refuse("delay_s", f"`delay_s` must be seconds from 0 to {LONGEST_DELAY_S:,}")
        return 0.0
    return float(value)


def _price(fields: Fields) -> int | None:
    """In billionths of a dollar for one token."""
    value = fields.get("price_per_million_tokens")
    if len(fields.body) > 1:
        fields.refuse(
            "price_per_million_tokens", f"stands on a line of its own, without {quote_names(_FIELDS[:5])}"
        )
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MILLION:
        fields.refuse("price_per_million_tokens", f"must be dollars from 0 to {MILLION:,}")
        return None
    return round(value * NANO / MILLION)
