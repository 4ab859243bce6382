"""The answer oracle: values that the agent's answer must give, each by its name.

    {"status": "refunded", "amount": 79.5, "when": {"$date": "2026-05-03"},
     "order_id": {"value": "4521", "in": "final"}}

A value is a text, a number, true, false, null or a matcher. Any turn may give it, unless `in` says that the
last one has to.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.core.matchers.matching import check_expectation, is_matcher
from pipelines.core.matchers.phrases import has_words
from pipelines.core.text.authored import Fields, as_object, kind
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused

CHECK = "expected_answer"
FINAL = "final"
MAX_VALUES = 100
LONGEST_TEXT = 1_000  # characters that an answer has to give word by word
LONGEST_NAME = 100
_SHAPE = 'for example {"status": "refunded", "amount": 79.5}'
_WHOLE = '{"value": "refunded", "in": "final"}'
#: What they ask is met by an answer that says nothing of the kind.
_VACUOUS_MATCHERS = ("$not", "$exists")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedValue:
    name: str
    expected: Json  # a literal or a matcher
    only_final: bool = False  # the last turn has to give it

    def describe(self) -> str:
        return f"The {'final response' if self.only_final else 'answer'}'s {self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedAnswer:
    values: tuple[ExpectedValue, ...] = ()


def parse_expected_answer(body: Json, *, path: str = f"/{CHECK}") -> ExpectedAnswer:
    """Parse the oracle, or raise Refused with all its problems."""
    problems: list[Problem] = []
    answer = read_expected_answer(body, path=path, problems=problems)
    if problems:
        raise Refused(problems, CHECK)
    return answer


def read_expected_answer(body: Json, *, path: str, problems: list[Problem]) -> ExpectedAnswer:
    """The valid parts; problems of the others are added to `problems`."""
    whole = as_object(body, path, problems, f"`{CHECK}`")
    if whole is None:
        return ExpectedAnswer()
    if not whole:
        problems.append(Problem(path=path, message=f"`{CHECK}` is empty", hint=_SHAPE))
    if len(whole) > MAX_VALUES:
        message = f"{len(whole):,} values are listed; at most {MAX_VALUES} are allowed"
        problems.append(Problem(path=path, message=message))
        return ExpectedAnswer()
    read = (_read(name, value, path + pointer([name]), problems) for name, value in whole.items())
    return ExpectedAnswer(values=tuple(value for value in read if value is not None))


def _read(name: str, value: Json, path: str, problems: list[Problem]) -> ExpectedValue | None:
    before = len(problems)
    if not name.strip():
        problems.append(Problem(path=path, message="a value needs a name that is not empty", hint=_SHAPE))
    elif len(name) > LONGEST_NAME:
        message = f"the name has {len(name):,} characters; at most {LONGEST_NAME} are allowed"
        problems.append(Problem(path=path, message=message))
    expected, only_final = value, False
    if isinstance(value, dict) and not is_matcher(value):
        expected, only_final = _read_value_object(value, path, problems)
        path += "/value"
    problems.extend(_problems(expected, path) if len(problems) == before else ())
    if len(problems) > before:
        return None
    return ExpectedValue(name=name, expected=expected, only_final=only_final)


def _read_value_object(body: JsonObject, path: str, problems: list[Problem]) -> tuple[Json, bool]:
    fields = Fields(body, path, problems)
    fields.refuse_unknown(("value", "in"))
    if "value" not in body:
        fields.refuse("value", "`value` is missing", _WHOLE)
    place = body.get("in")
    if place not in (None, FINAL):
        fields.refuse("in", f'`in` can only be "{FINAL}"', "remove `in` to accept the value in any turn")
    return body.get("value"), place == FINAL


def _problems(expected: Json, path: str) -> Iterator[Problem]:
    if isinstance(expected, list) or (isinstance(expected, dict) and not is_matcher(expected)):
        message = f"a value is a text, a number, true, false, null or a matcher, not {kind(expected)}"
        yield Problem(
            path=path, message=message, hint='give each value a name; {"$in": […]} is one of several'
        )
    elif isinstance(expected, str) and not has_words(expected):
        what = "has only punctuation" if expected.strip() else "is empty"
        yield Problem(path=path, message=f"the text {what}, so it cannot be looked for", hint=_SHAPE)
    else:
        yield from check_expectation(expected, path=path)
        yield from _answer_problems(expected, path)


def _answer_problems(expected: Json, path: str) -> Iterator[Problem]:
    """Problems of an expectation that is well formed but cannot judge an answer."""
    if isinstance(expected, str) and len(expected) > LONGEST_TEXT:
        message = f"the text has {len(expected):,} characters; at most {LONGEST_TEXT:,} are allowed"
        yield Problem(path=path, message=message, hint="give only the part that the answer must contain")
    if isinstance(expected, list):
        for index, item in enumerate(expected):
            yield from _answer_problems(item, path + pointer([index]))
    for name, expected_value in expected.items() if isinstance(expected, dict) else ():
        place = path + pointer([name])
        if name in _VACUOUS_MATCHERS:
            message = f"`{name}` does not say what the answer must give: almost any answer would meet it"
            hint = 'a tracked constraint: {"check": {"responses": {"$not": {"$contains": "…"}}}}'
            yield Problem(path=place, message=message, hint=hint)
        else:
            yield from _answer_problems(expected_value, place)
