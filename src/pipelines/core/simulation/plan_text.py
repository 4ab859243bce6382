"""Plans as files: YAML (or JSON), one plan per tool; problems carry their lines, and plans print readably.

Read as YAML 1.2: `yes`, `no`, `on` and `off` are text, `12:30` is not a number and a date is text. Anchors
and aliases are refused: a few lines of them unfold to gigabytes.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import yaml

from pipelines.core.json_text import Json, JsonObject, pointer
from pipelines.core.problems import Problem, Refused
from pipelines.core.simulation.language import Origin, Plan, parse_plan

MAX_TEXT_BYTES = 1 << 20
MAX_COLUMNS = 100  # of what is written; past this a mapping gets a line per key

_INTEGER = re.compile(r"[-+]?[0-9]{1,60}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class PlansText:
    """What a file says, and where: `places` has the line and column of each JSON Pointer."""

    bodies: dict[str, Json]
    places: Mapping[str, str] = field(repr=False)

    def placed(self, problem: Problem) -> Problem:
        """The problem with the line of the nearest thing that has one."""
        path = problem.path
        while path and path not in self.places:
            path = path.rpartition("/")[0]
        where = self.places.get(path)
        return problem if where is None else replace(problem, path=f"{where}: {problem.path}")


def parse_plans_text(
    text: str,
    *,
    origin: Origin = "authored",
    argument_names: Mapping[str, Collection[str]] | None = None,
    entity_types: Collection[str] | None = None,
) -> dict[str, Plan]:
    """The plans of a file `{tool_name: [steps]}`, or Refused with all problems and their lines.

    With `argument_names` (the arguments of each tool), plans for tools that are not there are problems too.
    """
    read = read_plans_text(text)
    plans: dict[str, Plan] = {}
    problems: list[Problem] = []
    for tool, body in read.bodies.items():
        at = pointer([tool])
        if argument_names is not None and tool not in argument_names:
            problems.append(Problem(path=at, message=f"there is no tool `{tool}`"))
        arguments = None if argument_names is None else argument_names.get(tool)
        try:
            plans[tool] = parse_plan(
                body, origin=origin, path=at, argument_names=arguments, entity_types=entity_types
            )
        except Refused as refused:
            problems.extend(refused.problems)
    if problems:
        raise Refused([read.placed(problem) for problem in problems], "the plans")
    return plans


def read_plans_text(text: str) -> PlansText:
    """The bodies of the plans, not yet checked as plans."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TEXT_BYTES:
        raise Refused([Problem(path="", message="a file of plans has at most 1 MiB")], "the file")
    reader = _Reader()
    try:
        root = yaml.compose(text, Loader=_Composer)
        value = None if root is None else reader.value(root, "")
    except yaml.MarkedYAMLError as error:
        _refuse(f"not YAML: {error.problem or error.context}", error.problem_mark or error.context_mark)
    except yaml.YAMLError as error:
        _refuse(f"not YAML: {str(error).splitlines()[0]}", None)
    except RecursionError:
        _refuse("nested too deep", None)
    if not reader.problems and not isinstance(value, dict):
        hint = "cancel_order:\n  - return: null"
        reader.problems.append(
            Problem(path="line 1", message="a mapping from tools to plans is needed", hint=hint)
        )
    if reader.problems or not isinstance(value, dict):
        raise Refused(reader.problems, "the file")
    return PlansText(bodies=value, places=reader.places)


class _Composer(yaml.SafeLoader):
    """Builds the tree of a text; values are made of it below, by the rules of YAML 1.2."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        is_alias = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None)
        if is_alias or getattr(event, "tag", None) not in (None, "!"):
            what = "anchors and aliases" if is_alias else "tags"
            message = f"{what} are not part of plan files; text that begins with &, * or ! stands in quotes"
            raise yaml.MarkedYAMLError(problem=message, problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def _refuse(message: str, mark: yaml.Mark | None) -> NoReturn:
    raise Refused([Problem(path=_place(mark) if mark else "", message=message)], "the file") from None


def _place(mark: yaml.Mark) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


@dataclass(kw_only=True, slots=True)
class _Reader:
    places: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def value(self, node: yaml.Node, path: str) -> Json:
        self.places.setdefault(path, _place(node.start_mark))
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, f"{path}/{index}") for index, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        return scalar(node.value, is_plain=getattr(node, "style", None) is None)

    def mapping(self, node: yaml.MappingNode, path: str) -> JsonObject:
        found: JsonObject = {}
        for key_node, value_node in node.value:
            place = _place(key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                hint = 'an expression as a key stands in quotes: "[item.id]"'
                self.problems.append(Problem(path=place, message="a key is text", hint=hint))
                continue
            key = key_node.value
            if is_half(key) and key_node.style is None:
                hint = "an expression with a comma inside {…} stands in quotes"
                self.problems.append(Problem(path=place, message=f"`{key}` is half an expression", hint=hint))
                continue
            if key in found:
                self.problems.append(
                    Problem(path=place, message=f"the key `{key}` stands twice in one mapping")
                )
                continue
            at = path + pointer([key])
            self.places[at] = place
            found[key] = self.value(value_node, at)
        return found


def is_half(text: str) -> bool:
    """Whether brackets do not match: `{a: round(x, 2)}` has the key `2)`, since YAML takes the comma."""
    return any(text.count(opening) != text.count(closing) for opening, closing in ("()", "[]"))


def scalar(text: str, *, is_plain: bool) -> Json:
    """What a scalar means: without quotes true, false, null and decimal numbers, else text."""
    if not is_plain:
        return text
    if text.lower() in _WORDS and text in (text.lower(), text.capitalize(), text.upper()):
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) < float("inf") else text
    return text


# -- writing


def plans_as_yaml(bodies: Mapping[str, Json]) -> str:
    """A whole file of plans, one after the other with a line between."""
    return "\n".join(_entry(tool, body, 0) for tool, body in bodies.items())


def plan_as_yaml(body: Json) -> str:
    """A plan as a person would write it: to read, copy, correct and keep."""
    inline = _inline(body)
    if not isinstance(body, (dict, list)) or not body:
        return f"{inline}\n"
    return _block(body, 0)


def _block(body: Json, indent: int) -> str:
    if isinstance(body, dict):
        return "".join(_entry(key, value, indent) for key, value in body.items())
    assert isinstance(body, list)
    return "".join(_element(value, indent) for value in body)


def _entry(key: str, value: Json, indent: int) -> str:
    head = f"{' ' * indent}{_text(key, is_inline=False)}:"
    if _fits(value, len(head)):
        return f"{head} {_shown(value)}\n"
    # Lists stand level with their key, as people write steps.
    return f"{head}\n{_block(value, indent if isinstance(value, list) else indent + 2)}"


def _element(value: Json, indent: int) -> str:
    if _fits(value, indent + 2) and not _is_step(value):
        return f"{' ' * indent}- {_shown(value)}\n"
    return f"{' ' * indent}- {_block(value, indent + 2).lstrip(' ')}"


def _is_step(value: Json) -> bool:
    """A mapping in a list gets a line per key, unless it is a small record such as {amount: total}."""
    return isinstance(value, dict) and bool(value)


def _fits(value: Json, column: int) -> bool:
    if not isinstance(value, (dict, list)) or not value:
        return True
    if isinstance(value, list) and any(_is_step(element) for element in value):
        return False
    return column + 1 + len(_inline(value)) <= MAX_COLUMNS


def _shown(value: Json) -> str:
    return _text(value, is_inline=False) if isinstance(value, str) else _inline(value)


def _inline(value: Json) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k, is_inline=True)}: {_inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    if isinstance(value, str):
        return _text(value, is_inline=True)
    return repr(value) if isinstance(value, float) else json.dumps(value)


_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_ .,'()\[\]{}=<>!+*/%|@$^-]*")
_UNPRINTABLE = re.compile(
    r"[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


def _text(text: str, *, is_inline: bool) -> str:
    """Without quotes where that reads as the same text; else in double ones, as expressions have single."""
    is_safe = _PLAIN.fullmatch(text) and not text.endswith(" ") and len(text) <= 2 * MAX_COLUMNS
    is_safe = is_safe and not is_half(text) and not (is_inline and set(text) & set(",[]{}"))
    if is_safe and scalar(text, is_plain=True) == text:
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{_UNPRINTABLE.sub(_escape, quoted)}"'


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
