"""Rules as authors and models write them: `{"form": "require", "tools": ["cancel_order"], "expression": …}`.

Reading collects every problem. What needs the tools and the world (is there such a tool, type, field?) is
checked by `check`, where these are known.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pipelines.core.simulation.expr import Expr, written
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.expr.nodes import Path
from pipelines.core.simulation.expr.parse import parse
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.rule import Origin, Rule
from pipelines.core.text.authored import Fields, as_list, as_object, did_you_mean, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem

MOST_RULES = 10_000  # of one task or agent
MOST_NAMES = 100
LONGEST_EXPRESSION = 1_000
LONGEST_NAME = 100
LONGEST_MESSAGE = 300
LONGEST_SENTENCE = 2_000  # of a rule that another amends
MOST_COUNT = 100_000
_ERROR = re.compile(r"\S{1,64}")  # in any spelling: ORDER_SHIPPED, E-1042, order/shipped
_FIELD = re.compile(r"-?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_RECORD = "record"  # `record('class').booked`: of a type whose name is no name in an expression
_ANSWER = ("status", "error", "message")


class _Keys(NamedTuple):
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()


#: What each form takes beside `form`, `tools` and `name`.
FORMS: Mapping[str, _Keys] = {
    "require": _Keys(("expression",), (*_ANSWER, "unchanged", "reply", "after_changes", "first")),
    "limit_calls": _Keys(("count",), ("per", *_ANSWER)),
    "after": _Keys(("target",), ("per", *_ANSWER)),
    "running_total": _Keys(("expression", "limit"), ("per", *_ANSWER)),
    "not_found": _Keys(("target",), _ANSWER),
    "keep": _Keys(("expression",)),
    "sort": _Keys((), ("target", "expression", "latest")),
    "take": _Keys(("count",), ("pages",)),
    "set": _Keys(("target", "expression"), ("when", "where", "before")),
    "unset": _Keys(("target",), ("when", "where", "before")),
    "flag": _Keys(("target",), ("on", "when")),
    "add": _Keys(("target", "fields"), ("when",)),
    "remove": _Keys(("target",), ("when", "where", "before")),
    "put": _Keys(("target", "expression"), ("when",)),
    "without": _Keys(("names",)),
    "only": _Keys(("names",)),
    "mask": _Keys(("target",), ("count",)),
    "drop": _Keys(("target",)),
    "amend": _Keys(("target",), ("when", *_ANSWER, "unchanged", "reply")),
}


class AuthoredRules(NamedTuple):
    """What an author wrote under `rules`: rules, and names of inherited rules that do not hold here."""

    rules: tuple[Rule, ...] = ()
    off: tuple[str, ...] = ()


def read_rules(value: Json, path: str, problems: list[Problem]) -> AuthoredRules:
    """The rules of a list, with every problem noted. An entry `{off: NAME}` switches an inherited one off."""
    listed = as_list(value, path, problems, "`rules`")
    if listed is None:
        return AuthoredRules()
    if len(listed) > MOST_RULES:
        problems.append(
            Problem(path=path, message=f"at most {MOST_RULES:,} rules are allowed, not {len(listed):,}")
        )
        return AuthoredRules()
    rules: list[Rule] = []
    off: list[str] = []
    for at, entry in enumerate(listed):
        place = path + pointer([at])
        body = as_object(entry, place, problems, "a rule")
        if body is not None and "off" in body:
            off += _read_off(body, place, problems)
        elif body is not None and (found := read_rule(body, place, problems)) is not None:
            rules.append(found)
    _refuse_doubles(rules, path, problems)
    return AuthoredRules(tuple(rules), tuple(off))


def active_rules(inherited: Sequence[Rule], own: AuthoredRules) -> tuple[Rule, ...]:
    """An agent's rules without those that the task switches off, then the task's own."""
    return (*(rule for rule in inherited if rule.name is None or rule.name not in own.off), *own.rules)


def _read_off(body: JsonObject, path: str, problems: list[Problem]) -> list[str]:
    fields = Fields(body, path, problems)
    fields.refuse_unknown(("off",))
    name = fields.text("off", longest=LONGEST_NAME)
    return [name] if name else []


def _refuse_doubles(rules: Iterable[Rule], path: str, problems: list[Problem]) -> None:
    seen: set[str] = set()
    for rule in rules:
        if rule.name is not None and rule.name in seen:
            problems.append(Problem(path=path, message=f"two rules are called `{rule.name}`"))
        seen |= {rule.name} if rule.name is not None else set()


def read_rule(
    body: JsonObject, path: str, problems: list[Problem], *, sentence: str = "", origin: Origin = Origin.TYPED
) -> Rule | None:
    before = len(problems)
    reader = _Reader(body, path, problems)
    form = body.get("form")
    if not isinstance(form, str) or form not in FORMS:
        known = did_you_mean(form, FORMS) if isinstance(form, str) else None
        reader.refuse("form", "`form` must be one of " + quote_names(FORMS), known)
        return None
    keys = FORMS[form]
    reader.refuse_unknown(("form", "tools", "name", *keys.needed, *keys.optional))
    for key in keys.needed:
        if key not in body:
            reader.refuse(key, f"a rule of the form `{form}` needs `{key}`")
    name = reader.text("name", longest=LONGEST_NAME) if reader.has("name") else None
    tools = reader.names("tools")
    if len(problems) > before:
        return None
    form_read = _READERS[form](reader)
    if len(problems) > before:
        return None
    return Rule(tools=tools, form=form_read, sentence=sentence, origin=origin, name=name)


class _Reader(Fields):
    """The fields of one rule."""

    __slots__ = ()

    def names(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not 0 < len(listed) <= MOST_NAMES:
            self.refuse(key, f"`{key}` must be a list of 1 to {MOST_NAMES} names")
            return ()
        if not all(isinstance(one, str) and 0 < len(one) <= LONGEST_NAME for one in listed):
            self.refuse(key, f"a name must have 1 to {LONGEST_NAME} characters")
            return ()
        return tuple(dict.fromkeys(map(str, listed)))

    def expression(self, key: str, *roots: str) -> Expr:
        return self.parsed(self.get(key), self.at(key), roots)

    def when(self) -> Expr | None:
        return self.expression("when") if self.has("when") else None

    def each(self) -> Expr | None:
        return self.expression("where", r.EACH) if self.has("where") else None

    def value(self) -> Expr:
        """What a field is set to: of each record, where there is more than one."""
        return self.expression("expression", *((r.EACH,) if self.has("where") else ()))

    def parsed(self, value: Json, path: str, roots: tuple[str, ...] = ()) -> Expr:
        """An expression; `{text: cancelled}` is the text itself, a number or a switch stands for itself."""
        if isinstance(value, dict) and list(value) == ["text"] and isinstance(value["text"], str):
            return m.constant(value["text"])
        if value is None or isinstance(value, (bool, int, float)):
            return m.constant(value)
        if not isinstance(value, str) or len(value) > LONGEST_EXPRESSION:
            says = f"an expression must be a string of at most {LONGEST_EXPRESSION:,} characters"
            self.problems.append(Problem(path=path, message=says, hint="order.status == 'pending'"))
            return m.NULL
        try:
            found = from_text(value)
        except BadExpression as bad:
            self.problems.append(Problem(path=path, message=bad.complaint.message, hint=bad.complaint.hint))
            return m.NULL
        for root in sorted({r.EACH, r.REPLY} - {*roots} & found.roots()):
            message = f"`{root}` is not available in a rule of this form"
            self.problems.append(Problem(path=path, message=message))
        return found

    def field(self, key: str) -> str:
        value = self.get(key)
        if not isinstance(value, str) or not _FIELD.fullmatch(value) or len(value) > LONGEST_NAME:
            self.refuse(key, f"`{key}` must be the name of a field", "such as `status`")
            return ""
        return value

    def target(self) -> Path:
        value = self.get("target")
        try:
            found = n.path_of(from_text(value)) if isinstance(value, str) else None
        except BadExpression:
            found = None
        if found is None or not found.keys or found.root in (*r.GIVEN, r.EACH, r.REPLY):
            self.refuse("target", "`target` must be a field of a type of the world", "such as `order.status`")
            return Path("")
        return found

    def word(self, key: str = "target") -> str:
        return self.text(key, longest=LONGEST_NAME) or ""

    def per(self) -> str | None:
        return self.word("per") if self.has("per") else None

    def count(self, key: str = "count", default: int | None = None) -> int:
        value = self.body.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_COUNT:
            self.refuse(key, f"`{key}` must be a whole number from 0 to {MOST_COUNT:,}")
            return 0
        return value

    def switch(self, key: str, *, default: bool = False) -> bool:
        value = self.body.get(key, default)
        if not isinstance(value, bool):
            self.refuse(key, f"`{key}` must be true or false")
        return value is True

    def refusal(self) -> r.Refusal:
        status, error, message = (self.get(key) for key in _ANSWER)
        if status is not None and not (
            isinstance(status, int) and not isinstance(status, bool) and 400 <= status <= 599
        ):
            self.refuse("status", "`status` must be a number from 400 to 599")
            status = None
        if error is not None and not (
            isinstance(error, str) and _ERROR.fullmatch(error) and error.isprintable()
        ):
            self.refuse("error", "`error` must be a word", "such as `already_shipped`")
            error = None
        if message is not None and not (isinstance(message, str) and 0 < len(message) <= LONGEST_MESSAGE):
            self.refuse("message", f"`message` must be a string of at most {LONGEST_MESSAGE} characters")
            message = None
        return r.Refusal(status=status, error=error, message=message)

    def answer(self) -> r.Answer:
        """What is answered instead of the reply: an error, the record as it is, or another reply."""
        given = [key for key in ("unchanged", "reply") if key in self.body]
        if given and (len(given) > 1 or any(self.has(key) for key in _ANSWER)):
            self.refuse(given[0], "give only one of an error, `unchanged` and `reply`")
        if "unchanged" in given and self.switch("unchanged"):
            return r.Unchanged()
        return r.Reply(self.get("reply")) if "reply" in given else self.refusal()


def _add(reader: _Reader) -> r.Form:
    given = reader.get("fields")
    if not isinstance(given, dict) or len(given) > MOST_NAMES:
        reader.refuse("fields", "`fields` must be an object of expressions by field", "{amount: order.total}")
        given = {}
    at = reader.at("fields")
    fields = tuple((key, reader.parsed(value, at + pointer([key]))) for key, value in given.items())
    return r.Add(entity_type=reader.word(), fields=fields, when=reader.when())


def _sort(reader: _Reader) -> r.Form:
    by = reader.names("target") if reader.has("target") else ()
    if any(_FIELD.fullmatch(one) is None for one in by):
        reader.refuse(
            "target", "`target` must name fields", "`created_at`; `-created_at` for the latest first"
        )
    first = reader.expression("expression", r.EACH) if reader.has("expression") else None
    latest = reader.switch("latest") if "latest" in reader.body else None
    if (latest is None) is not (bool(by) or first is not None):
        says = "give `target` (fields), `expression` (which records come first) or both, or `latest`"
        reader.refuse("target", says)
    return r.Sort(by=by, first=first, latest=latest)


def _require(reader: _Reader) -> r.Form:
    after_changes, first = reader.switch("after_changes"), reader.switch("first")
    if after_changes and first:
        reader.refuse("first", "`first` cannot be combined with `after_changes`")
    need, answer = reader.expression("expression"), reader.answer()
    return r.Require(need=need, answer=answer, after_changes=after_changes, first=first)


def _drop(reader: _Reader) -> r.Form:
    try:
        found = n.path_of(from_text(reader.word()))
    except BadExpression:
        found = None
    if found is None or found.root in (*r.GIVEN, r.EACH, r.REPLY):
        reader.refuse("target", "`target` must be a type of the world or a field of one", "such as `order`")
        return r.Drop(entity_type="")
    return r.Drop(entity_type=found.root, keys=found.keys)


def _amend(reader: _Reader) -> r.Form:
    is_answered = any(key in reader.body for key in (*_ANSWER, "unchanged", "reply"))
    when = reader.when()
    if when is None and not is_answered:
        reader.refuse("when", "give `when` (calls that go through), another answer, or both")
    target = reader.text("target", longest=LONGEST_SENTENCE) or ""
    return r.Amend(rule=target, when=when, answer=reader.answer() if is_answered else None)


_READERS: Mapping[str, Callable[[_Reader], r.Form]] = {
    "require": _require,
    "limit_calls": lambda one: r.LimitCalls(count=one.count(), per=one.per(), answer=one.refusal()),
    "after": lambda one: r.After(tool=one.word(), per=one.per(), answer=one.refusal()),
    "running_total": lambda one: r.RunningTotal(
        amount=one.expression("expression"),
        limit=one.expression("limit"),
        per=one.per(),
        answer=one.refusal(),
    ),
    "not_found": lambda one: r.NotFound(entity_type=one.word(), answer=one.refusal()),
    "keep": lambda one: r.Keep(need=one.expression("expression", r.EACH)),
    "sort": _sort,
    "take": lambda one: r.Take(count=one.count(), pages=one.switch("pages")),
    "set": lambda one: r.Set(
        target=one.target(),
        value=one.value(),
        when=one.when(),
        where=one.each(),
        before=one.switch("before"),
    ),
    "unset": lambda one: r.Set(
        target=one.target(), value=None, when=one.when(), where=one.each(), before=one.switch("before")
    ),
    "flag": lambda one: r.Flag(flag=one.word(), on=one.switch("on", default=True), when=one.when()),
    "add": _add,
    "remove": lambda one: r.Remove(
        entity_type=one.word(), when=one.when(), where=one.each(), before=one.switch("before")
    ),
    "put": lambda one: r.Put(
        name=one.field("target"), value=one.expression("expression", r.REPLY), when=one.when()
    ),
    "without": lambda one: r.Without(names=one.names("names")),
    "only": lambda one: r.Only(names=one.names("names")),
    "mask": lambda one: r.Mask(name=one.field("target"), count=one.count(default=4)),
    "drop": _drop,
    "amend": _amend,
}


# -- as data ------------------------------------------------------------------------------------------------


def as_json(rule: Rule) -> JsonObject:
    """What `read_rule` reads back as the same rule."""
    form, body = _WRITERS[type(rule.form)](rule.form)
    head: JsonObject = {"name": rule.name} if rule.name is not None else {}
    tools: list[Json] = [*rule.tools]
    return head | {"form": form, "tools": tools} | {key: one for key, one in body.items() if one is not None}


def to_text(expr: Expr) -> str:
    """An expression of a rule, in which a type of any name can be written."""
    odd = {root: m.call(_RECORD, m.constant(root)) for root in expr.roots() if not _is_name(root)}
    return written(expr.replaced(odd))


def from_text(text: str) -> Expr:
    return _with_names(parse(text))


def _is_name(root: str) -> bool:
    try:
        return parse(root) == n.Name(root)
    except BadExpression:
        return False


def _with_names(expr: Expr) -> Expr:
    """`record('class')` as the name that it stands for."""
    found = {one.arguments for one in expr.calls() if one.function == _RECORD}
    if not found:
        return expr
    match expr:
        case n.Call(function="record", arguments=(n.Constant(value=str(name)),)):
            return n.Name(name)
    return n.rebuilt(expr, _with_names)


def _answer_json(answer: r.Answer) -> JsonObject:
    match answer:
        case r.Unchanged():
            return {"unchanged": True}
        case r.Reply(value=value):
            return {"reply": value}
        case r.Refusal(status=status, error=error, message=message):
            return {"status": status, "error": error, "message": message}


def _optional_text(expr: Expr | None) -> str | None:
    return None if expr is None else to_text(expr)


def _target(path: Path) -> str:
    return to_text(m.path(path.root, *path.keys))


def _each_json(form: r.Set | r.Remove) -> JsonObject:
    return {"where": _optional_text(form.where), "before": form.before or None}


def _set_json(form: r.Set) -> tuple[str, JsonObject]:
    body: JsonObject = {"target": _target(form.target), "when": _optional_text(form.when), **_each_json(form)}
    return ("unset", body) if form.value is None else ("set", {**body, "expression": to_text(form.value)})


_WRITERS: Mapping[type, Callable[..., tuple[str, JsonObject]]] = {
    r.Require: lambda one: (
        "require",
        {
            "expression": to_text(one.need),
            **_answer_json(one.answer),
            "after_changes": one.after_changes or None,
            "first": one.first or None,
        },
    ),
    r.LimitCalls: lambda one: (
        "limit_calls",
        {"count": one.count, "per": one.per, **_answer_json(one.answer)},
    ),
    r.After: lambda one: ("after", {"target": one.tool, "per": one.per, **_answer_json(one.answer)}),
    r.RunningTotal: lambda one: (
        "running_total",
        {
            "expression": to_text(one.amount),
            "limit": to_text(one.limit),
            "per": one.per,
            **_answer_json(one.answer),
        },
    ),
    r.NotFound: lambda one: ("not_found", {"target": one.entity_type, **_answer_json(one.answer)}),
    r.Keep: lambda one: ("keep", {"expression": to_text(one.need)}),
    r.Sort: lambda one: (
        "sort",
        {"target": [*one.by] or None, "expression": _optional_text(one.first), "latest": one.latest},
    ),
    r.Take: lambda one: ("take", {"count": one.count, "pages": one.pages or None}),
    r.Set: _set_json,
    r.Flag: lambda one: ("flag", {"target": one.flag, "on": one.on, "when": _optional_text(one.when)}),
    r.Add: lambda one: (
        "add",
        {
            "target": one.entity_type,
            "fields": {key: to_text(value) for key, value in one.fields},
            "when": _optional_text(one.when),
        },
    ),
    r.Remove: lambda one: (
        "remove",
        {"target": one.entity_type, "when": _optional_text(one.when), **_each_json(one)},
    ),
    r.Put: lambda one: (
        "put",
        {"target": one.name, "expression": to_text(one.value), "when": _optional_text(one.when)},
    ),
    r.Without: lambda one: ("without", {"names": [*one.names]}),
    r.Only: lambda one: ("only", {"names": [*one.names]}),
    r.Mask: lambda one: ("mask", {"target": one.name, "count": one.count}),
    r.Drop: lambda one: ("drop", {"target": to_text(m.path(one.entity_type, *one.keys))}),
    r.Amend: lambda one: (
        "amend",
        {
            "target": one.rule,
            "when": _optional_text(one.when),
            **(_answer_json(one.answer) if one.answer is not None else {}),
        },
    ),
}
