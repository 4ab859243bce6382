"""Checking what stands inside a step: values, messages, failures, names and paths.

Problems are collected, never raised: an author gets all of them in one answer. What could not be read is
replaced by null, since a plan with problems never runs.
"""

import ast
import keyword
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pipelines.core.simulation.expr.parse import from_tree
from pipelines.core.simulation.expression_text import BadExpression, did_you_mean, parse, template_parts
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.compiler import CONSTANTS, GIVEN_NAMES, Evaluate, Formula, Given
from pipelines.core.simulation.syntax.expressions import Expression, compile_expression, remembered_tools
from pipelines.core.simulation.syntax.fields import joined, mapping_of
from pipelines.core.simulation.values import Value, as_text
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused

# What a name stands for: an entity, a place inside one, or a value of its own.
Kind: TypeAlias = Literal["entity", "place", "value"]
Scope: TypeAlias = dict[str, Kind]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ERROR_WORD = re.compile(r"(?!\d+$)[^\W_A-Z][^\WA-Z]*")  # what an entity type of any script is not found with


def constant(value: Value) -> Formula:
    return Formula(Given(value=value), lambda call: value)


NOTHING: Formula = constant(None)


def under(path: str, *parts: str | int) -> str:
    return path + pointer(parts)


# Checking and compiling so many takes 0.1 to 0.2 s; the largest plan of our own has a tenth of them.
MAX_PARTS = 5_000
MOST_PROBLEMS = 50  # told of one plan; each is compared with every word that could have been meant


class CheckAbandoned(Exception):
    """A plan is so large, or so much is wrong with it, that the rest is not looked at."""


@dataclass(kw_only=True, slots=True)
class Checker:
    arguments: frozenset[str] | None
    entity_types: frozenset[str] | None
    written: frozenset[str]  # names through which the plan changes something
    tools: frozenset[str] | None = None
    remembered: set[str] = field(default_factory=set)  # tools that the plan names in `calls('…')`
    problems: list[Problem] = field(default_factory=list)
    steps_seen: int = 0
    parts_seen: int = 0

    def problem(self, path: str, message: str, hint: str | None = None) -> None:
        self.problems.append(Problem(path=path, message=message, hint=hint))
        if len(self.problems) == MOST_PROBLEMS:
            self.problems.append(
                Problem(path="", message="there may be more problems: the rest was not checked")
            )
            raise CheckAbandoned

    def count(self, parts: int, path: str) -> None:
        """Values, and the parts of expressions."""
        self.parts_seen += parts
        if self.parts_seen > MAX_PARTS:
            hint = "split the work over several tools, or use a loop for repeated steps"
            message = f"the plan has more than {MAX_PARTS:,} parts: values, names, fields, operators, calls"
            self.problems.append(Problem(path=path, message=message, hint=hint))
            raise CheckAbandoned

    def unknown_keys(self, body: JsonObject, known: Collection[str], path: str) -> None:
        for key in body:
            if key not in known:
                self.problem(under(path, key), f"unknown key `{key}`", did_you_mean(key, known))

    # -- expressions and values

    def expression(self, text: Json, scope: Scope, path: str) -> Expression | None:
        if isinstance(text, bool):
            text = "true" if text else "false"  # a switch stands for itself
        if not isinstance(text, str):
            self.problem(
                path, "this must be an expression in a string", "such as \"order.status == 'pending'\""
            )
            return None
        self.count(len(text) // 8, path)  # before it is read: what is wrong with a long one takes long to say
        try:
            found = self._compiled(text, scope, path)
        except Refused as refused:
            for problem in refused.problems:
                self.problem(problem.path, problem.message, problem.hint)
            return None
        self.count(sum(1 for _ in ast.walk(found.tree)), path)
        self.remembered |= remembered_tools(found.tree)
        return found

    def _compiled(self, text: str, scope: Scope, path: str) -> Expression:
        return compile_expression(
            text,
            names=scope,
            path=path,
            arguments=self.arguments,
            entity_types=self.entity_types,
            tools=self.tools,
        )

    def literal(self, body: JsonObject, scope: Scope, path: str) -> str | None:
        """The text of `{text: cancelled}`; an expression there makes a mapping that has a field `text`."""
        text = body.get("text")
        if not isinstance(text, str) or len(body) > 1:
            return None
        self.count(len(text) // 8, path)
        try:
            self._compiled(text, scope, path)
        except Refused:
            return None if self._reads_something(text, scope) else text
        return None

    def _reads_something(self, text: str, scope: Scope) -> bool:
        """`args.mesage`: an expression with a mistake in it, and no text."""
        try:
            return bool(from_tree(parse(text)).roots() & (GIVEN_NAMES | scope.keys()))
        except BadExpression:
            return False

    def condition(self, body: Json, scope: Scope, path: str) -> Formula:
        if isinstance(body, bool):
            return constant(body)
        found = self.expression(body, scope, path)
        return Formula(found.tree, found.evaluate) if found else NOTHING

    def value(self, body: Json, scope: Scope, path: str) -> Formula:
        """VALUE: an expression in a string, `{text: …}`, a number, true, false, null, or a mapping or list of
        values."""
        self.count(1, path)
        if isinstance(body, str):
            found = self.expression(body, scope, path)
            return Formula(found.tree, found.evaluate) if found else NOTHING
        if isinstance(body, dict):
            literal = self.literal(body, scope, path)
            return self.mapping(body, scope, path) if literal is None else constant(literal)
        if isinstance(body, list):
            parts = [self.value(part, scope, under(path, index)) for index, part in enumerate(body)]
            run = [part.evaluate for part in parts]
            tree = ast.List(elts=[part.tree for part in parts], ctx=ast.Load())
            return Formula(tree, lambda call: [part(call) for part in run])
        return constant(body)

    def mapping(self, body: JsonObject, scope: Scope, path: str) -> Formula:
        entries: list[tuple[str | Evaluate | None, Evaluate]] = []
        tree = ast.Dict(keys=[], values=[])
        for key, part in body.items():
            at = under(path, key)
            value = self.value(part, scope, at)
            computed = key.startswith("[") and key.endswith("]")
            name = self.value(key[1:-1], scope, at) if computed else constant(key)
            is_spread = key == "..."
            entries.append((None if is_spread else name.evaluate if computed else key, value.evaluate))
            tree.keys.append(None if is_spread else name.tree)
            tree.values.append(value.tree)
        return Formula(tree, mapping_of(entries))

    def template(self, body: Json, scope: Scope, path: str) -> Formula:
        """Text in which `{expr}` is filled in; `{{` and `}}` are braces."""
        if not isinstance(body, str):
            self.problem(path, "the message must be text")
            return NOTHING
        parts: list[Formula] = []
        for literal, code in template_parts(body):
            parts.append(constant(literal.replace("{{", "{").replace("}}", "}")))
            if code is not None:
                parts.append(self.value(code, scope, path))
        if len(parts) == 1:
            return parts[0]
        run = [part.evaluate for part in parts]
        return Formula(
            ast.JoinedStr(values=[part.tree for part in parts]),
            lambda call: joined([as_text(part(call), call) for part in run], call),
        )

    def failure(self, body: Json, scope: Scope, path: str) -> steps.Failure:
        if not isinstance(body, dict):
            self.problem(
                path, "a failure must be a mapping", "{status: 409, error: already_shipped, message: …}"
            )
            body = {"error": "failed"}
        self.unknown_keys(body, ("status", "error", "message", "body"), path)
        status = body.get("status", 400)
        if not isinstance(status, int) or isinstance(status, bool) or not 400 <= status <= 599:
            self.problem(under(path, "status"), "the status of a failure must be a number from 400 to 599")
            status = 400
        error = self.error_word(body, path)
        words = error.replace("_", " ").capitalize()
        return steps.Failure(
            status=status,
            error=error,
            message=self.template(body.get("message", words), scope, under(path, "message")),
            body=self.value(body["body"], scope, under(path, "body")) if "body" in body else None,
        )

    def error_word(self, body: JsonObject, path: str) -> str:
        error = body.get("error", "failed")
        if "error" not in body and "body" not in body:
            self.problem(path, "a failure needs an `error`", "such as error: already_shipped")
        if isinstance(error, str) and _ERROR_WORD.fullmatch(error):
            return error
        self.problem(under(path, "error"), "`error` must be one snake_case word", "such as already_shipped")
        return "failed"

    # -- names and paths

    def bind(self, name: Json, kind: Kind, scope: Scope, path: str) -> str:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self.problem(path, "this must be a name of letters, digits and _", "such as `order`")
            return "_"
        if name in GIVEN_NAMES or name in CONSTANTS or keyword.iskeyword(name):
            self.problem(path, f"`{name}` is reserved and cannot be used as a name", "choose another name")
        scope[name] = kind
        return name

    def path_of(self, text: Json, scope: Scope, path: str) -> steps.Path:
        """`order.items[0].price`: a bound name, then fields and positions."""
        nothing = steps.Path(text="", root="", keys=())
        self.count(5 + len(text) // 4 if isinstance(text, str) else 1, path)
        try:
            node = parse(text) if isinstance(text, str) else None
        except BadExpression as bad:
            self.problem(path, bad.complaint.message, bad.complaint.hint)
            return nothing
        keys: list[Formula] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                keys.append(constant(node.attr))
            else:
                keys.append(self.value(ast.unparse(node.slice), scope, path))
            node = node.value
        if not isinstance(node, ast.Name) or not isinstance(text, str):
            self.problem(path, "this must be a path: a name, then fields", "such as order.items[0].price")
            return nothing
        self.check_root(node.id, scope, path)
        return steps.Path(text=text, root=node.id, keys=tuple(reversed(keys)))

    def check_root(self, root: str, scope: Scope, path: str) -> None:
        if root in GIVEN_NAMES:
            self.problem(path, f"`{root}` cannot be changed", "change an entity that an earlier step found")
        elif root not in scope:
            self.problem(path, f"`{root}` is not defined here", did_you_mean(root, scope))

    def place(self, body: Json, scope: Scope, path: str) -> steps.Path | None:
        """The path a value spells, when it leads into an entity."""
        if not isinstance(body, str) or not _leads_into_entity(body, scope):
            return None
        return self.path_of(body, scope, path)

    def entity_type(self, body: Json, path: str) -> str:
        if not isinstance(body, str) or not body:
            self.problem(path, "this must be the name of an entity type", "such as `in: order`")
            return ""
        if self.entity_types is not None and body not in self.entity_types:
            self.problem(path, f"there is no entity type `{body}`", did_you_mean(body, self.entity_types))
        return body

    def mapping_needed(self, body: Json, path: str, example: str) -> JsonObject:
        if isinstance(body, dict) and body:
            return body
        self.problem(path, "this must be a mapping", example)
        return {}


def _leads_into_entity(text: str, scope: Scope) -> bool:
    root = _NAME.match(text.strip())
    if root is None or scope.get(root[0], "value") == "value":
        return False
    try:
        node = parse(text)
    except BadExpression:
        return False
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            return False
        node = node.value
    return isinstance(node, ast.Name)
