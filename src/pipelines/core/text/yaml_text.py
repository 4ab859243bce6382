"""YAML (and JSON, which is YAML too) that people write and read: values with their lines, and values printed.

Read as YAML 1.2: `yes`, `no`, `on` and `off` are text, `12:30` is not a number and a date is text. Anchors
and aliases are refused: a few lines of them unfold to gigabytes.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias

import yaml

from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused

LONGEST_KEY = 1_000  # characters of a key as it is written
MAX_COLUMNS = 100  # of what is written; past this a mapping gets a line per key

#: What is wrong with a key that stands without quotes, and what to write instead; None if nothing is.
KeyComplaint: TypeAlias = Callable[[str], tuple[str, str] | None]

_INTEGER = re.compile(r"[-+]?[0-9]{1,60}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


@dataclass(frozen=True, kw_only=True, slots=True)
class YamlText:
    """What a text says, and where: `places` has the line and column of each JSON Pointer."""

    value: Json
    places: Mapping[str, str] = field(repr=False)

    def placed(self, problem: Problem) -> Problem:
        """The problem with the line of the nearest thing that has one."""
        path = problem.path
        while path and path not in self.places:
            path = path.rpartition("/")[0]
        where = self.places.get(path)
        return problem if where is None else replace(problem, path=f"{where}: {problem.path}")


def read_yaml(
    text: str, *, what: str, most_bytes: int, key_complaint: KeyComplaint = lambda key: None
) -> YamlText:
    """The value of a text, or Refused with what is wrong and its line. `what` is in it, such as "plan"."""
    if len(text.encode("utf-8", "surrogatepass")) > most_bytes:
        most = f"{most_bytes >> 20} MiB" if most_bytes % (1 << 20) == 0 else f"{most_bytes:,} bytes"
        raise Refused([Problem(path="", message=f"a file of {what}s has at most {most}")], "the file")
    reader = _Reader(key_complaint=key_complaint)
    try:
        root = yaml.compose(text, Loader=_Composer)
        value = None if root is None else reader.value(root, "")
    except _NotPlain as error:
        rest = "text that begins with &, * or ! stands in quotes"
        _refuse(f"this is not YAML: {error.problem} are not part of {what} files; {rest}", error.problem_mark)
    except yaml.MarkedYAMLError as error:
        _refuse(
            f"this is not YAML: {error.problem or error.context}", error.problem_mark or error.context_mark
        )
    except yaml.YAMLError as error:
        _refuse(f"this is not YAML: {str(error).splitlines()[0]}", None)
    except RecursionError:
        _refuse("is nested too deep", None)
    if reader.problems:
        raise Refused(reader.problems, "the file")
    return YamlText(value=value, places=reader.places)


class _NotPlain(yaml.MarkedYAMLError):
    """Something that would make the text mean more than it says."""


class _Composer(yaml.SafeLoader):
    """Builds the tree of a text; values are made of it below, by the rules of YAML 1.2."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        is_alias = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None)
        if is_alias or getattr(event, "tag", None) not in (None, "!"):
            what = "anchors and aliases" if is_alias else "tags"
            raise _NotPlain(problem=what, problem_mark=event.start_mark)
        return super().compose_node(parent, index)


def _refuse(message: str, mark: yaml.Mark | None) -> NoReturn:
    raise Refused([Problem(path=_place(mark) if mark else "", message=message)], "the file") from None


def _place(mark: yaml.Mark) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


@dataclass(kw_only=True, slots=True)
class _Reader:
    key_complaint: KeyComplaint
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
            complaint = self.key_complaint(key) if key_node.style is None else None
            if complaint is not None:
                self.problems.append(Problem(path=place, message=complaint[0], hint=complaint[1]))
                continue
            if key in found:
                message = f"the key `{key}` stands twice in one mapping"
                self.problems.append(Problem(path=place, message=message))
                continue
            at = path + pointer([key])
            self.places[at] = place
            found[key] = self.value(value_node, at)
        return found


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


def as_yaml(body: Json) -> str:
    """A value as a person would write it: to read, copy, correct and keep."""
    inline = _inline(body)
    if not isinstance(body, (dict, list)) or not body:
        return f"{inline}\n"
    return _block(body, 0)


def entries_as_yaml(bodies: Mapping[str, Json]) -> str:
    """A mapping whose entries are long: one after the other with a line between."""
    return "\n".join(_entry(key, body, 0) for key, body in bodies.items())


def _block(body: Json, indent: int) -> str:
    if isinstance(body, dict):
        return "".join(_entry(key, value, indent) for key, value in body.items())
    assert isinstance(body, list)
    return "".join(_element(value, indent) for value in body)


def _entry(key: str, value: Json, indent: int) -> str:
    name = _text(key, is_inline=False)
    if len(name) > LONGEST_KEY:
        return _long_entry(name, value, indent)
    head = f"{' ' * indent}{name}:"
    if _fits(value, len(head)):
        return f"{head} {_scalar_text(value)}\n"
    # Lists stand level with their key, as people write steps.
    return f"{head}\n{_block(value, indent if isinstance(value, list) else indent + 2)}"


def _long_entry(name: str, value: Json, indent: int) -> str:
    """YAML looks for the colon of a key in its first 1,024 characters: a longer key is marked as one."""
    margin = " " * indent
    below = f" {_scalar_text(value)}\n" if _fits(value, indent + 1) else f"\n{_block(value, indent + 2)}"
    return f"{margin}? {name}\n{margin}:{below}"


def _element(value: Json, indent: int) -> str:
    if _fits(value, indent + 2) and not _is_step(value):
        return f"{' ' * indent}- {_scalar_text(value)}\n"
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


def _scalar_text(value: Json) -> str:
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


def has_odd_brackets(text: str) -> bool:
    """Whether brackets do not match: `{a: round(x, 2)}` has the key `2)`, since YAML takes the comma."""
    return any(text.count(opening) != text.count(closing) for opening, closing in ("()", "[]"))


def _text(text: str, *, is_inline: bool) -> str:
    """Without quotes where that reads as the same text; else in double ones, as expressions have single."""
    is_safe = _PLAIN.fullmatch(text) and not text.endswith(" ") and len(text) <= 2 * MAX_COLUMNS
    is_safe = is_safe and not has_odd_brackets(text) and not (is_inline and set(text) & set(",[]{}"))
    if is_safe and scalar(text, is_plain=True) == text:
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{_UNPRINTABLE.sub(_escape, quoted)}"'


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
