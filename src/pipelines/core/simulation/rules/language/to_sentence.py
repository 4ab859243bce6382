"""Writes a rule as its canonical sentence. Parsed again, the sentence gives the same rule.

Parts that the language has no words for become expressions in backticks. A rule that has no such sentence is
shown as data.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pipelines.core.english.words import article, plural, singulars
from pipelines.core.english.words import tokens as words_of
from pipelines.core.simulation.expr import Expr
from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.rules import rule as r
from pipelines.core.simulation.rules.forms import as_json, to_text
from pipelines.core.simulation.rules.language.changes import by_age, field_to_fill, new_kind, reply_field
from pipelines.core.simulation.rules.language.code_expressions import check_expression
from pipelines.core.simulation.rules.language.english import GRAMMAR
from pipelines.core.simulation.rules.language.nouns import (
    CODE,
    Literal,
    NounPhrase,
    is_new_name,
    is_plain_code,
)
from pipelines.core.simulation.rules.language.phrases import BLANK, PER_DAY, date, number
from pipelines.core.simulation.rules.language.scope import BoundValue, CannotResolve, Scope, fields_called
from pipelines.core.simulation.rules.language.text import DATE, tokens, unreadable
from pipelines.core.simulation.rules.rule import Rule
from pipelines.core.simulation.rules.vocabulary import Vocabulary
from pipelines.core.text.json_text import dumps

_MUCH = {">": "more than", "<": "less than", ">=": "at least", "<=": "at most"}
_UNITS = {m.constant(count): unit for unit, count in PER_DAY.items()}
_NUMBER = re.compile(r"-?\d+(\.\d*[1-9])?")  # 5.0 would be read as 5
_QUOTES = frozenset("\n\r“”‘’")


def to_sentence(rule: Rule, vocabulary: Vocabulary) -> str:
    """The rule as one sentence, without its full stop."""
    try:
        sentence = _WRITERS[type(rule.form)](_SentenceWriter(rule, vocabulary), rule.form)
        if unreadable(sentence, tokens(sentence)) is None:
            return sentence
    except CannotResolve:
        pass
    body = {key: value for key, value in as_json(rule).items() if key not in ("tools", "name")}
    return f"{_join_names(rule.tools)}: {dumps(body).decode()}"


def _require_words(is_so: object) -> None:
    """Whatever the language has no words for is said in another way, or as data."""
    if not is_so:
        raise CannotResolve("the language has no words for it")


def _join_names(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _is_name(text: str) -> bool:
    found = tokens(text)
    return len(found) == 1 and found[0].text == text and is_new_name(found[0])


class _SentenceWriter:
    """Says the parts of one rule, each as long as it is read again as the same part for every tool."""

    def __init__(self, rule: Rule, vocabulary: Vocabulary) -> None:
        _require_words(all(name in vocabulary.tools for name in rule.tools))
        self.vocabulary = vocabulary
        self.tools = _join_names(rule.tools)
        self.is_many = len(rule.tools) > 1
        self.scopes = [Scope(vocabulary=vocabulary, tool=vocabulary.tools[name]) for name in rule.tools]

    def within(self, change: Callable[[Scope], Scope]) -> "_SentenceWriter":
        inner = object.__new__(_SentenceWriter)
        inner.__dict__.update(self.__dict__, scopes=[change(scope) for scope in self.scopes])
        return inner

    def does(self, verb: str) -> str:
        """The tools with a verb: `cancel_order fails`, `cancel_order and refund_order fail`."""
        return f"{self.tools} {({'does': 'do'}.get(verb, verb[:-1])) if self.is_many else verb}"

    def one(self, kind: str, *, many: bool = False) -> str:
        """What a record of the type is called, where that means no other type."""
        *first, last = singulars(words_of(kind))
        phrase = " ".join((*first, plural(last) if many else last))
        _require_words(self.vocabulary.kind_named(words_of(phrase)) == kind)
        return phrase

    def things(self, test: Expr) -> str:
        """Elements of the list that is answered."""
        kind = self.listed()
        _require_words(kind not in test.roots())  # the type's name means each of them here
        inner = self.within(lambda scope: scope.about(kind, n.Name(r.EACH)))
        return f"{self.one(kind, many=True)} where {inner.condition(test)}"

    def listed(self) -> str:
        [kind, *others] = {scope.tool.lists for scope in self.scopes}
        if kind is None or others:
            raise CannotResolve("the tools return different lists")
        return kind

    # -- conditions -----------------------------------------------------------------------------------------

    def condition(self, expr: Expr, *, inside: bool = False) -> str:
        match expr:
            case n.And(parts=parts) | n.Or(parts=parts) if len(parts) > 1 and type(expr) not in map(
                type, parts
            ):
                is_and = isinstance(expr, n.And)
                phrase = (" and " if is_and else " or ").join(
                    self.condition(one, inside=is_and) for one in parts
                )
                return f"({phrase})" if inside else phrase
        try:
            return self._atom(expr)
        except CannotResolve:
            return self._code(expr)

    def when(self, test: Expr | None) -> str:
        return "" if test is None else f" when {self.condition(test)}"

    def _atom(self, expr: Expr, no: str = "") -> str:
        match expr:
            case n.Not(part=n.Call() | n.Compare() as part) if not no:
                return self._atom(part, "not ")
            case n.Compare(first=first, rest=(one,)):
                return self._comparison(first, one.sign, one.value, no)
            case n.Call(function="same_id", arguments=(left, right)):
                phrase, of = self._term(left)
                _require_words(of.is_id and not isinstance(right, n.Constant) and left != right)
                return f"{phrase} {'does not match' if no else 'matches'} {self.term(right)}"
            case n.Call(function="is_before", arguments=(left, right)):
                return self._earlier(left, right, no)
        raise CannotResolve("the language has no words for it")

    def _comparison(self, first: Expr, sign: str, value: Expr, no: str) -> str:
        match first:
            case n.Call(function="days_between", arguments=(start, end)) if sign in _MUCH:
                return self._apart(start, end, f"{no}{_MUCH[sign]} {_span(value)}")
        phrase, of = self._term(first)
        if sign in _MUCH:
            than, other = self._term(value)
            _require_words(number(of) and number(other) and not (of.is_date and other.is_date))
            return f"{phrase} is {no}{_MUCH[sign]} {than}"
        _require_words(not no)
        negative = "not " if sign in ("!=", "not in") else ""
        if sign in ("==", "!="):
            _require_words(value != first and not (of.is_id and not isinstance(value, n.Constant)))
            return f"{phrase} is {negative}{self.value(value)}"
        if value == BLANK:
            return f"{phrase} is {'set' if negative else 'missing'}"
        parts = value.parts if isinstance(value, n.ListOf) and sign in ("in", "not in") else ()
        listed = [self.value(part) for part in parts if isinstance(part, n.Constant)]
        _require_words(len(listed) == len(parts) > 1 and not any(one.startswith("`") for one in listed))
        return f"{phrase} is {negative}one of {', '.join(listed)}"

    def _apart(self, start: Expr, end: Expr, how: str) -> str:
        if isinstance(start, (n.Name, n.Constant)):  # now, today, a date: no subject of a sentence
            return f"{self._date(end)} is {how} after {self._moment(start)}"
        return f"{self._date(start)} is {how} before {self._moment(end)}"

    def _earlier(self, left: Expr, right: Expr, no: str) -> str:
        match left, right:
            case n.Call(function="add_months", arguments=(start, n.Constant() as months)), end:
                return self._apart(start, end, f"{no}more than {_count(months)} months")
            case end, n.Call(function="add_months", arguments=(start, n.Constant() as months)):
                return self._apart(start, end, f"{no}less than {_count(months)} months")
        if isinstance(left, (n.Name, n.Constant)):
            return f"{self._date(right)} is {no}after {self._moment(left)}"
        return f"{self._date(left)} is {no}before {self._moment(right)}"

    def _date(self, expr: Expr) -> str:
        phrase, of = self._term(expr)
        _require_words(date(of))
        return phrase

    def _moment(self, expr: Expr) -> str:
        match expr:
            case n.Name(name="now" | "today" as name):
                return name
            case n.Constant(value=str(text)) if DATE.fullmatch(text):
                return text
        _require_words(n.path_of(expr))
        return self._date(expr)

    # -- values ---------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> str:
        match expr:
            case n.Constant(value=str(text)):
                quote = '"' if "'" in text else "'"
                _require_words(quote not in text and not _QUOTES & set(text))
                return f"{quote}{text}{quote}"
            case n.Constant(value=None | bool() as switch):
                return {None: "null", True: "true", False: "false"}[switch]
        return self.term(expr)

    def new_value(self, expr: Expr) -> str:
        return expr.name if isinstance(expr, n.Name) and expr in (m.TODAY, m.NOW) else self.value(expr)

    def term(self, expr: Expr) -> str:
        return self._term(expr)[0]

    def _term(self, expr: Expr, *, inside: bool = False) -> tuple[str, BoundValue]:
        path = n.path_of(expr)
        if path is not None and path.keys:
            return self._path(path, expr)
        match expr:
            case n.Constant(value=int() | float() as count) if _NUMBER.fullmatch(str(count)):
                return str(count), BoundValue(expr, str(count))
            case n.Arithmetic(left=left, sign="+" | "-" | "*" | "/" as sign, right=right):
                first, one = self._term(left, inside=sign in "*/")
                second, other = self._term(right, inside=True)
                _require_words(number(one) and number(other))
                phrase = f"{first} {sign} {second}"
                return f"({phrase})" if inside else phrase, BoundValue(expr, "it")
        return self._code(expr), BoundValue(expr, "the expression")

    def _path(self, path: n.Path, expr: Expr) -> tuple[str, BoundValue]:
        """A field or an argument, where its name means the same for every tool."""
        root, keys = path
        kind = str(self.scopes[0].it) if root == r.EACH else root
        found = [_resolve(scope, kind, path) for scope in self.scopes]
        _require_words(all(len(tokens(key)) == 1 for key in keys) and all(one.expr == expr for one in found))
        if root == r.ARGS:
            return f"the given {keys[0]}", found[0]
        if root == r.REPLY or len(keys) > 1:
            return ".".join((kind, *keys)), found[0]
        return f"the {self.one(kind)}'s {keys[0]}", found[0]

    def _code(self, expr: Expr) -> str:
        text = to_text(expr)
        text = f"({text})" if re.fullmatch(r"[\w.\-]+", text) else text  # else it is a name
        _require_words(
            "`" not in text and all(check_expression(Literal(text, 0, 0), one) == expr for one in self.scopes)
        )
        return f"`{text}`"

    # -- parts of forms -------------------------------------------------------------------------------------

    def per(self, per: str | None, before: str = "per") -> str:
        _require_words(per is None or all(scope.tool.id_argument(per) for scope in self.scopes))
        return "" if per is None else f" {before} {self.one(per)}"

    def names(self, names: tuple[str, ...]) -> str:
        _require_words(
            all(reply_field(scope, NounPhrase.of(name)) == name for scope in self.scopes for name in names)
        )
        return _join_names(names)

    def target(self, target: n.Path) -> str:
        """A field that is there, or a new one."""
        kind, name = self.vocabulary.kinds.get(target.root), target.keys[0]
        if kind is None or len(target.keys) > 1 or [*fields_called(kind, words_of(name))]:
            return self.term(m.path(target.root, *target.keys))
        _require_words(
            _is_name(name) and field_to_fill(kind, NounPhrase.of(name)).expr == m.path(kind.name, name)
        )
        return f"the {self.one(kind.name)}'s {name}"

    def filled(self, kind: str, name: str, value: Expr) -> str:
        named = replace(NounPhrase.of(name), text="_".join(words_of(name)))
        filled = field_to_fill(self.vocabulary.kinds.get(kind) or new_kind(kind), named)
        _require_words(_is_name(name) and filled.expr == m.path(kind, name))
        return f"{name} = {self.new_value(value)}"


def _resolve(scope: Scope, kind: str, path: n.Path) -> BoundValue:
    named = NounPhrase.of(path.keys[-1])
    if path.root == r.ARGS:
        _require_words(len(path.keys) == 1)
        return scope.argument(named)
    if path.root == r.REPLY or len(path.keys) > 1:
        return scope.path(replace(named, words=(kind, *path.keys)))
    known = scope.vocabulary.kinds.get(kind)
    _require_words(known is not None and len([*fields_called(known, named.words)]) == 1)
    return scope.about(kind, scope.record if scope.it == kind else None).owned(named)


def _span(expr: Expr) -> str:
    match expr:
        case n.Arithmetic(left=count, sign="/", right=per_day) if per_day in _UNITS:
            return f"{_count(count)} {_UNITS[per_day]}"
    return f"{_count(expr)} days"


def _count(expr: Expr) -> str:
    value = str(expr.value) if isinstance(expr, n.Constant) else ""
    _require_words(_NUMBER.fullmatch(value) and not value.startswith("-"))
    return value


# -- forms --------------------------------------------------------------------------------------------------


def _error(answer: r.Refusal) -> str:
    parts = [str(answer.status)] if answer.status else []
    if answer.error:
        _require_words(is_plain_code(answer.error))
        parts.append(answer.error if parts or CODE.fullmatch(answer.error) else f"error code {answer.error}")
    if answer.message is not None:
        _require_words('"' not in answer.message and not _QUOTES & set(answer.message))
        parts.append(f'"{answer.message}"')
    return " ".join(parts)


def _with(answer: r.Refusal) -> str:
    return f" with {_error(answer)}" if _error(answer) else ""


def _require(one: _SentenceWriter, form: r.Require) -> str:
    answer, need, test = form.answer, form.need, form.need.negated()
    first = ", ahead of all other rules" if form.first else ""
    if form.after_changes and isinstance(answer, r.Refusal):
        return f"After {one.tools}, {one.condition(need)}{_with(answer)}"
    _require_words(test.negated() == need and not form.after_changes)
    if isinstance(answer, r.Refusal):
        if need == m.FALSE and not first:
            return f"{one.tools} always fail{'' if one.is_many else 's'}{_with(answer)}"
        says = f"{one.does('fails')}{_with(answer)}"
    else:
        _require_words(answer in (r.Unchanged(), r.Reply([])))
        is_same = answer == r.Unchanged()
        says = f"{one.does('does')} nothing" if is_same else f"{one.does('returns')} an empty list"
    is_negative = isinstance(need, n.Compare) and need.rest[0].sign in ("!=", "not in")
    if is_negative or isinstance(need, n.Not):
        return f"{says} when {one.condition(test)}{first}"
    return f"{says} unless {one.condition(need)}{first}"


def _amend(one: _SentenceWriter, form: r.Amend) -> str:
    _require_words('"' not in form.rule and not _QUOTES & set(form.rule) and form.rule)
    rule = f'the rule "{form.rule}"{one.when(form.when)}'
    match form.answer:
        case None:
            return f"{one.does('ignores')} {rule}"
        case r.Refusal() as answer:
            _require_words(_error(answer))
            return f"{one.does('fails')}{_with(answer)} instead of {rule}"
    _require_words(form.answer in (r.Unchanged(), r.Reply([])))
    does = f"{one.does('does')} nothing" if form.answer == r.Unchanged() else ""
    return f"{does or one.does('returns') + ' an empty list'} instead of {rule}"


def _running_total(one: _SentenceWriter, form: r.RunningTotal) -> str:
    _require_words(form.amount.roots() <= {r.ARGS})
    summed = f"The sum of {one.term(form.amount)} over all calls of {one.tools}"
    return f"{summed} must not exceed {one.term(form.limit)}{one.per(form.per)}{_with(form.answer)}"


def _not_found(one: _SentenceWriter, form: r.NotFound) -> str:
    says = f"{one.does('returns')} {error}" if (error := _error(form.answer)) else one.does("fails")
    return f"{says} when the {one.one(form.entity_type)} does not exist"


def _sort(one: _SentenceWriter, form: r.Sort) -> str:
    kind = one.listed()
    keys = ", then by ".join(_sort_key(one, kind, name) for name in form.by)
    if form.first is not None:
        then = f", then sorted by {keys}" if keys else ""
        return f"{one.does('shows')} {one.things(form.first)} first{then}"
    if form.latest is not None:
        _require_words(by_age(one.scopes[0], "-" if form.latest else "") == form)
        return f"{one.does('returns')} results, {'most recent' if form.latest else 'oldest'} first"
    return f"{one.does('returns')} results sorted by {keys}"


def _sort_key(one: _SentenceWriter, kind: str, by: str) -> str:
    name = by.removeprefix("-")
    one.term(m.path(kind, name))
    return f"{name} {'ascending' if name == by else 'descending'}"


def _take(one: _SentenceWriter, form: r.Take) -> str:
    _require_words(one.listed())
    return (
        f"{one.does('returns')} {f'pages of {form.count}' if form.pages else f'at most {form.count} results'}"
    )


def _each(one: _SentenceWriter, kind: str, where: Expr, *values: Expr) -> tuple[str, _SentenceWriter]:
    """Every record that is meant, and a writer for which the type's name means one of them."""
    _require_words(all(kind not in expr.roots() for expr in (where, *values)))
    inner = one.within(lambda scope: scope.about(kind, n.Name(r.EACH)))
    return f"every {one.one(kind)} where {inner.condition(where)}", inner


_BEFORE = ", as things were before the call"


def _set_each(one: _SentenceWriter, form: r.Set, where: Expr) -> str:
    values = () if form.value is None else (form.value,)
    every, inner = _each(one, form.target.root, where, *values)
    kind, name = one.vocabulary.kinds.get(form.target.root), form.target.keys[0]
    _require_words(kind is not None and len(form.target.keys) == 1 and _is_name(name))
    _require_words(kind is not None and [*fields_called(kind, words_of(name))] == [(name,)])
    to = "" if form.value is None else f" to {inner.new_value(form.value)}"
    verb = "clears" if form.value is None else "sets"
    before = _BEFORE if form.before else ""
    return f"{one.does(verb)} the {name} for {every}{to}{before}{one.when(form.when)}"


def _remove(one: _SentenceWriter, form: r.Remove) -> str:
    if form.where is None:
        return f"{one.does('removes')} the {one.one(form.entity_type)}{one.when(form.when)}"
    every, _ = _each(one, form.entity_type, form.where)
    return f"{one.does('removes')} {every}{_BEFORE if form.before else ''}{one.when(form.when)}"


def _drop(one: _SentenceWriter, form: r.Drop) -> str:
    what = one.term(m.path(form.entity_type, *form.keys)) if form.keys else f"the {one.one(form.entity_type)}"
    _require_words("`" not in what)
    return f"{one.does('does')} not itself change {what}"


def _set(one: _SentenceWriter, form: r.Set) -> str:
    if form.where is not None:
        return _set_each(one, form, form.where)
    place, target = m.path(form.target.root, *form.target.keys), one.target(form.target)
    verb, rest = "sets", ""
    match form.value:
        case None:
            verb, rest = "clears", one.term(place)
        case n.Arithmetic(left=start, sign="+" | "-" as sign, right=by):
            if start == m.call("default", place, m.constant(0)) and number(one._term(place)[1]):
                verb = "increases" if sign == "+" else "decreases"
                rest = f"{target} by {one.term(by)}"
        case n.Call(function=name, arguments=(at, n.Constant(value=int(count)))) if at == place:
            if name in ("add_days", "add_months", "add_minutes") and one._date(place):
                verb, to = ("adds", "to") if count >= 0 else ("subtracts", "from")
                rest = f"{abs(count)} {name.removeprefix('add_')} {to} {target}"
    if form.before:
        _require_words(form.value is not None)
        verb, rest = "sets", f"{target} to {one.new_value(form.value or m.NULL)}{_BEFORE}"
    rest = rest or f"{target} to {one.new_value(form.value or m.NULL)}"
    return f"{one.does(verb)} {rest}{one.when(form.when)}"


def _flag(one: _SentenceWriter, form: r.Flag) -> str:
    _require_words(_is_name(form.flag))
    return f"{one.does('sets' if form.on else 'clears')} the {form.flag} flag{one.when(form.when)}"


def _add(one: _SentenceWriter, form: r.Add) -> str:
    is_known = form.entity_type in one.vocabulary.kinds
    noun = one.one(form.entity_type) if is_known else form.entity_type
    _require_words(form.fields and (is_known or (_is_name(noun) and noun.lower() not in GRAMMAR.words)))
    filled = ", ".join(one.filled(form.entity_type, *field) for field in form.fields)
    return f"{one.does('adds')} {article(noun).lower()} {noun} with {filled}{one.when(form.when)}"


def _put(one: _SentenceWriter, form: r.Put) -> str:
    own, inner = m.path(r.REPLY, form.name), one.within(lambda scope: replace(scope, in_reply=True))
    _require_words(_is_name(form.name))
    match form.value:
        case n.Call(function="min", arguments=(place, limit)) if place == own:
            return f"{one.does('caps')} {one.names((form.name,))} at {one.term(limit)}{one.when(form.when)}"
        case n.Call(function="max", arguments=(place, limit)) if place == own and limit == m.constant(0):
            return f"{one.tools} never returns a negative {one.names((form.name,))}{one.when(form.when)}"
        case n.Call(function="round", arguments=(value, n.Constant(value=int(digits)))) if digits >= 0:
            phrase = f"{inner.term(value)}, rounded to {digits} decimals"
        case value:
            phrase = inner.term(value)
    return f"{one.does('returns')} {form.name} = {phrase}{one.when(form.when)}"


_TIMES = {1: "once", 2: "twice"}
_WRITERS: Mapping[type, Callable[[_SentenceWriter, Any], str]] = {
    r.Require: _require,
    r.LimitCalls: lambda one, form: (
        f"{one.tools} can be called at most {_TIMES.get(form.count, f'{form.count} times')}"
        f"{one.per(form.per)}{_with(form.answer)}"
    ),
    r.After: lambda one, form: (
        f"{one.tools} can only be called after {form.tool}"
        f"{one.per(form.per, 'for the same')}{_with(form.answer)}"
    ),
    r.RunningTotal: _running_total,
    r.NotFound: _not_found,
    r.Keep: lambda one, form: f"{one.does('returns')} only {one.things(form.need)}",
    r.Sort: _sort,
    r.Take: _take,
    r.Set: _set,
    r.Flag: _flag,
    r.Add: _add,
    r.Remove: _remove,
    r.Drop: _drop,
    r.Amend: _amend,
    r.Put: _put,
    r.Without: lambda one, form: f"{one.does('does')} not include {one.names(form.names)}",
    r.Only: lambda one, form: f"{one.does('returns')} only {one.names(form.names)}",
    r.Mask: lambda one, form: (
        f"{one.does('masks')} {one.names((form.name,))} except the last {form.count} characters"
    ),
}
