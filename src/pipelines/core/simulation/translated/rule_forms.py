"""A rule as a model writes it, `{"form": "require", "tools": […], …}`, read into the rules that sentences
become.

Expressions are those of the plan language. In them `args` is the call, a type of the world the record of
that type which the call is about, `each` an element of the list that is answered, and `reply` the reply
itself.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pipelines.core.authored import did_you_mean
from pipelines.core.json_text import Json, JsonObject
from pipelines.core.problems import Problem
from pipelines.core.simulation.behavior import rules as r
from pipelines.core.simulation.behavior.lexicon import Lexicon
from pipelines.core.simulation.behavior.rules import Ref, Rule, RuleKind, Text

LONGEST_EXPRESSION = 1_000
MOST_RULES = 10  # of one sentence
_TEXT: JsonObject = {"type": "string"}
_FIELDS: JsonObject = {
    "form": {
        "enum": [
            *("require", "keep", "set", "unset", "flag", "put", "take", "sort", "without", "only", "mask"),
            *("not_found", "remove"),
        ]
    },
    "tools": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 50},
    "expression": {"type": "string", "maxLength": LONGEST_EXPRESSION},
    "when": {"type": "string", "maxLength": LONGEST_EXPRESSION},
    "target": {"type": "string", "maxLength": 200},
    "names": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 50},
    "count": {"type": "integer", "minimum": 0, "maximum": 100_000},
    "on": {"type": "boolean"},
    "after_changes": {"type": "boolean"},
    "status": {"type": "integer", "minimum": 400, "maximum": 599},
    "error": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"},
    "message": {"type": "string", "maxLength": 300},
}
RULE_SCHEMA: JsonObject = {
    "type": "object",
    "properties": _FIELDS,
    "required": ["form", "tools"],
    "additionalProperties": False,
}
#: What each form needs beside its tools, and what it may have.
_TAKES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "require": (("expression",), ("status", "error", "message", "after_changes")),
    "keep": (("expression",), ()),
    "set": (("target", "expression"), ("when",)),
    "unset": (("target",), ("when",)),
    "flag": (("target", "on"), ("when",)),
    "put": (("target", "expression"), ()),
    "take": (("count",), ()),
    "sort": (("target",), ()),
    "without": (("names",), ()),
    "only": (("names",), ()),
    "mask": (("target", "count"), ()),
    "not_found": (("target", "status", "error"), ("message",)),
    "remove": (("target",), ()),
}
_TOKEN = re.compile(
    r"(?P<text>'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\")|(?P<name>(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
    r"(?P<call>\s*\()?"
)
_FIELD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class _Wrong(Exception):
    """Why a rule cannot be read."""

    def __init__(self, key: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


def read_rules(
    sentence: str, bodies: Json, lexicon: Lexicon, path: str = ""
) -> tuple[tuple[Rule, ...], list[Problem]]:
    """The rules of one sentence, and what is wrong with those that cannot be read."""
    found: list[Rule] = []
    problems: list[Problem] = []
    for at, body in enumerate(bodies if isinstance(bodies, list) else ()):
        place = f"{path}/{at}"
        try:
            found.append(_read(sentence, body if isinstance(body, dict) else {}, lexicon))
        except _Wrong as wrong:
            where = f"{place}/{wrong.key}" if wrong.key else place
            problems.append(Problem(path=where, message=wrong.message, hint=wrong.hint))
    return tuple(found), problems


def _read(sentence: str, body: dict[str, Any], lexicon: Lexicon) -> Rule:
    form = str(body.get("form"))
    if form not in _TAKES:
        raise _Wrong("form", f"there is no form {form!r:.40}")
    needed, may = _TAKES[form]
    for key in needed:
        if key not in body:
            raise _Wrong(key, f"a rule of the form `{form}` needs `{key}`")
    for key in body.keys() - {"form", "tools", *needed, *may}:
        raise _Wrong(key, f"a rule of the form `{form}` has no `{key}`")
    tools = tuple(dict.fromkeys(map(str, body.get("tools") or ())))
    for name in tools:
        if name.lower() not in lexicon.tools:
            known = [tool.name for tool in lexicon.tools.values()]
            raise _Wrong("tools", f"there is no tool `{name}`", did_you_mean(name, known))
    if not tools:
        raise _Wrong("tools", "a rule is about one tool at least")
    kind, made = _FORMS[form](_Body(body, lexicon))
    return Rule(sentence=sentence, tools=tools, kind=kind, body=made)


class _Body:
    """What a rule has beside its form, read as it is asked for."""

    def __init__(self, body: Mapping[str, Any], lexicon: Lexicon) -> None:
        self.body = body
        self.lexicon = lexicon

    def text(self, key: str, *roots: str) -> Text:
        """An expression, its references found; `roots` are names it may use beside types and arguments."""
        return Text(tuple(self._parts(key, str(self.body[key]), roots)))

    def when(self) -> Text | None:
        return self.text("when") if "when" in self.body else None

    def _parts(self, key: str, expression: str, roots: tuple[str, ...]) -> Iterator[str | Ref]:
        done = 0
        named = {"each": r.EACH, "reply": r.REPLY}
        for token in _TOKEN.finditer(expression):
            name = token["name"]
            if name is None or token["call"]:
                continue
            root, *path = name.split(".")
            is_kind = root in self.lexicon.kinds
            if root in named and root not in roots and not is_kind:
                raise _Wrong(key, f"`{root}` means nothing in a rule of this form")
            if not (is_kind or root == r.ARGUMENTS or root in roots):
                continue
            if root in named and not is_kind:
                root = named[root]
            yield expression[done : token.start()]
            yield Ref(root, tuple(path))
            done = token.end()
        yield expression[done:]

    def field(self, key: str = "target") -> str:
        name = str(self.body[key])
        if _FIELD.fullmatch(name) is None:
            raise _Wrong(key, f"`{name[:60]}` is no name of a field")
        return name

    def ref(self) -> Ref:
        kind, *path = self.field().split(".")
        if kind not in self.lexicon.kinds or not path:
            known = ", ".join(list(self.lexicon.kinds)[:10])
            raise _Wrong(
                "target", "must be a field of a type of the world, such as `order.status`", f"types: {known}"
            )
        return Ref(kind, tuple(path))

    def kind(self) -> str:
        name = str(self.body["target"])
        if name not in self.lexicon.kinds:
            raise _Wrong(
                "target", f"the world has no type `{name[:60]}`", did_you_mean(name, self.lexicon.kinds)
            )
        return name

    def failure(self, status: int, error: str) -> r.Failure:
        said = self.body.get("message")
        return r.Failure(
            status=int(self.body.get("status", status)), error=str(self.body.get("error", error)), spoken=said
        )


def _require(body: _Body) -> tuple[RuleKind, r.RuleBody]:
    need = body.text("expression")
    at_end = bool(body.body.get("after_changes"))
    kinds = [root for root in sorted(need.roots()) if root in body.lexicon.kinds]
    by_argument = not kinds
    answer = body.failure(422, "invalid_request") if by_argument else body.failure(409, "conflict")
    kind = RuleKind.INVARIANT if at_end else RuleKind.ARGUMENT if by_argument else RuleKind.GUARD
    return kind, r.Require(
        need=need, answer=answer, about=kinds[0] if len(kinds) == 1 else None, at_end=at_end
    )


def _not_found(body: _Body) -> tuple[RuleKind, r.RuleBody]:
    return RuleKind.NOT_FOUND, r.NotFound(entity_type=body.kind(), answer=body.failure(404, "not_found"))


def _sort(body: _Body) -> tuple[RuleKind, r.RuleBody]:
    by = str(body.body["target"])
    if _FIELD.fullmatch(by.removeprefix("-")) is None:
        raise _Wrong("target", f"`{by[:60]}` is no name of a field")
    return RuleKind.LIST, r.Sort(by=by.removeprefix("-"), descending=by.startswith("-"))


_FORMS: Mapping[str, Callable[[_Body], tuple[RuleKind, r.RuleBody]]] = {
    "require": _require,
    "not_found": _not_found,
    "sort": _sort,
    "keep": lambda body: (RuleKind.LIST, r.Filter(keep=body.text("expression", "each"))),
    "set": lambda body: (
        RuleKind.EFFECT,
        r.Write(target=body.ref(), value=body.text("expression"), when=body.when()),
    ),
    "unset": lambda body: (RuleKind.EFFECT, r.Write(target=body.ref(), value=None, when=body.when())),
    "flag": lambda body: (
        RuleKind.EFFECT,
        r.SetFlag(flag=str(body.body["target"]), value=bool(body.body["on"]), when=body.when()),
    ),
    "put": lambda body: (
        RuleKind.COMPUTED,
        r.Put(name=body.field(), value=body.text("expression", "reply")),
    ),
    "take": lambda body: (RuleKind.LIST, r.Take(most=int(body.body["count"]))),
    "without": lambda body: (RuleKind.SHAPE, r.Without(names=tuple(map(str, body.body["names"])))),
    "only": lambda body: (RuleKind.SHAPE, r.Only(names=tuple(map(str, body.body["names"])))),
    "mask": lambda body: (
        RuleKind.SHAPE,
        r.Masked(name=body.field(), keep_last=int(body.body["count"])),
    ),
    "remove": lambda body: (RuleKind.EFFECT, r.Delete(entity_type=body.kind())),
}
