"""A plan as sentences, for readers who do not know the plan language. The plan itself is shown next to them.

Parts without plain words (a comprehension, arithmetic) are quoted as written.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from pipelines.core.simulation.expr import Expr, nodes, parse
from pipelines.core.simulation.expression_text import BadExpression
from pipelines.core.text.json_text import Json, JsonObject, dumps

LONGEST_QUOTED = 300  # characters of one expression
_COMPARISON_WORDS: Mapping[str, str] = {
    "==": " is ",
    "!=": " is not ",
    "<": " is less than ",
    "<=": " is at most ",
    ">": " is more than ",
    ">=": " is at least ",
    "in": " is one of ",
    "not in": " is none of ",
}


class Part(NamedTuple):
    """Of a sentence: words of ours, or something of the plan's own, which is set apart."""

    text: str
    is_code: bool = False


Words: TypeAlias = tuple[Part, ...]
_ChangeWords: TypeAlias = Callable[[str, Words], Words]


class PlanSentence(NamedTuple):
    depth: int  # 1 for what is done inside a condition or a loop
    words: Words
    note: str | None = None  # the author's, or the rule that the step enforces

    def as_text(self) -> str:
        return "".join(part.text for part in self.words)


def plan_in_words(body: Json) -> list[PlanSentence]:
    """What each step does, in order. `body` is a plan that was checked."""
    block = body.get("steps") if isinstance(body, dict) else body
    return list(_block(block, 0))


def _block(block: Json, depth: int) -> Iterator[PlanSentence]:
    for step in block if isinstance(block, list) else []:
        if isinstance(step, dict):
            yield from _step(step, depth)


def _step(step: JsonObject, depth: int) -> Iterator[PlanSentence]:
    note = step.get("note") or step.get("rule")
    note_text = str(note) if note else None
    if "for" in step:
        yield PlanSentence(
            depth, _words_of("For each ", _code(step["for"]), " of ", _value(step.get("in")), ":"), note_text
        )
        yield from _block(step.get("do"), depth + 1)
    elif "if" in step:
        yield PlanSentence(depth, _words_of("If ", _condition(step["if"]), ":"), note_text)
        yield from _block(step.get("then"), depth + 1)
        if step.get("else"):
            yield PlanSentence(depth, _words_of("Otherwise:"))
            yield from _block(step["else"], depth + 1)
    else:
        verb = next((name for name in _SENTENCES if name in step), None)
        words = _SENTENCES[verb](step) if verb is not None else _words_of(_code(dumps(step).decode()))
        yield PlanSentence(depth, words, note_text)


# -- sentences


def _find(step: JsonObject) -> Words:
    spec = step["find"]
    assert isinstance(spec, dict), "the plan was checked"
    kind: Words = (_code(spec.get("in")),)
    if spec.get("all"):
        which = _words_of(" where ", _condition(spec["where"])) if "where" in spec else ()
        which += _words_of(" whose id is one of ", _value(spec["id"])) if "id" in spec else ()
        return _words_of(
            "Find every ", kind, *which, *_order_words(spec), _name_part(spec.get("as"), spec.get("in"))
        )
    if spec.get("as") != spec.get("in"):
        kind += _words_of(" (", _code(spec.get("as")), ")")
    by = _words_of(" whose id is ", _value(spec["id"])) if "id" in spec else ()
    by += _words_of(" where ", _condition(spec["where"])) if "where" in spec else ()
    if spec.get("optional"):
        return _words_of("Look for the ", kind, *by, *_order_words(spec), "; there may be none.")
    failure = spec.get("else")
    if failure is None:
        missing = "".join(c if c.isalnum() else "_" for c in str(spec.get("in")).lower()).strip("_")
        failure = {"status": 404, "error": f"{missing}_not_found"}
    return _words_of(
        "Look up the ", kind, *by, *_order_words(spec), "; if there is none, ", *_refusal(failure), "."
    )


def _order_words(spec: JsonObject) -> Words:
    found: Words = ()
    if spec.get("sort"):
        fields = spec["sort"] if isinstance(spec["sort"], list) else [spec["sort"]]
        for index, field in enumerate(fields):
            way = ", highest first" if str(field).startswith("-") else ""
            found += _words_of(
                ", ordered by " if index == 0 else ", then by ", _code(str(field).lstrip("-")), way
            )
    return found + (_words_of(", at most ", _value(spec["limit"])) if "limit" in spec else ())


def _name_part(name: Json, kind: Json) -> Part:
    return Part(f", as {name}.") if name and name != kind else Part(".")


def _require(step: JsonObject) -> Words:
    """`unless it is not refunded` is said the other way round."""
    failure = _refusal(step.get("else"), is_first=True)
    match condition := _parse(step["require"]):
        case nodes.Compare(rest=(("!=" | "not in", _),)) | nodes.Not():
            return _words_of(*failure, " if ", _words(condition.negated()), ".")
    return _words_of(*failure, " unless ", _condition(step["require"]), ".")


def _refusal(failure: Json, *, is_first: bool = False) -> Words:
    spec = failure if isinstance(failure, dict) else {"error": failure}
    status, error, message = spec.get("status", 400), spec.get("error", "failed"), spec.get("message")
    begin = f"{'Refuse' if is_first else 'refuse'} with {status} "
    words = _words_of(begin, _code(error))
    return words + (_words_of(f" (“{str(message)[:LONGEST_QUOTED]}”)") if message else ())


def _let(step: JsonObject) -> Words:
    return _each(step["let"], lambda name, value: _words_of("work out ", _code(name), " as ", value))


def _set(step: JsonObject) -> Words:
    return _each(
        step["set"],
        lambda target, value: _words_of(
            "set ", _code(target), " to ", value, *_if_given_words(step["set"], target)
        ),
    )


def _append(step: JsonObject) -> Words:
    return _each(
        step["append"], lambda target, value: _words_of("add ", value, " to the list ", _code(target))
    )


def _if_given_words(changes: Json, target: str) -> Words:
    """An argument that was left out changes nothing."""
    value = changes.get(target) if isinstance(changes, dict) else None
    found = _parse(value) if isinstance(value, str) else None
    is_argument = isinstance(found, nodes.Field) and found.of == nodes.Name("args")
    return _words_of(", if it is given") if is_argument else ()


def _each(changes: Json, said: _ChangeWords) -> Words:
    found: Words = ()
    for index, (target, value) in enumerate(changes.items() if isinstance(changes, dict) else ()):
        words = said(str(target), _value(value))
        if index == 0:
            words = (Part(words[0].text.capitalize()), *words[1:])
        found += _words_of(*(["; "] if index else []), *words)
    return _words_of(*found, ".")


def _paths(step: JsonObject, verb: str, begin: str) -> Words:
    given = step[verb]
    found: Words = ()
    for index, path in enumerate(given if isinstance(given, list) else [given]):
        found += _words_of(*([", "] if index else []), _code(path))
    return _words_of(begin, *found, ".")


def _add(step: JsonObject) -> Words:
    spec = step["add"]
    assert isinstance(spec, dict), "the plan was checked"
    attrs = spec.get("attrs")
    words = _words_of("Add a new ", _code(spec.get("in")))
    words += _words_of(" whose id is ", _value(spec["id"])) if "id" in spec else ()
    if isinstance(attrs, dict) and attrs:
        for index, (name, value) in enumerate(attrs.items()):
            words += _words_of(" with " if index == 0 else ", ", _code(name), " = ", _value(value))
    elif attrs:
        words += _words_of(" with ", _value(attrs))
    return _words_of(*words, ".")


def _return(step: JsonObject) -> Words:
    status = step.get("status", 200)
    end = "." if status == 200 else f", with status {status}."
    value = step["return"]
    if value in (None, "null"):
        return _words_of("Answer with nothing", end)
    return _words_of("Answer with ", _value(value), end)


# -- expressions


def _condition(text: Json) -> Words:
    found = _parse(text)
    return _words(found) if found is not None else (_code(text),)


def _parse(text: Json) -> Expr | None:
    try:
        return parse(str(text))
    except BadExpression:
        return None


def _value(value: Json) -> Words:
    """A text in a plan is an expression; anything else stands for itself."""
    return _condition(value) if isinstance(value, str) else (_code(_mapping_text(value)),)


def _mapping_text(value: Json) -> str:
    """A mapping of expressions without the quotes that JSON puts around them."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_mapping_text(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_mapping_text, value)) + "]"
    return value if isinstance(value, str) else dumps(value).decode()


def _words(expr: Expr) -> Words:
    match expr:
        case nodes.Compare(first=first, rest=(("==" | "!=" as sign, nodes.Constant(value=None)),)):
            return _words_of(*_words(first), " is not given" if sign == "==" else " is given")
        case nodes.Compare(first=first, rest=((sign, value),)) if sign in _COMPARISON_WORDS:
            return _words_of(*_words(first), _COMPARISON_WORDS[sign], *_words(value))
        case nodes.And(parts=parts) | nodes.Or(parts=parts):
            word = " and " if isinstance(expr, nodes.And) else " or "
            found = [part for inner in parts for part in (Part(word), *_inner(inner))]
            return tuple(found[1:])
        case nodes.Constant(value=str(text)):
            return (Part(f"“{text[:LONGEST_QUOTED]}”"),)
        case nodes.Field(of=nodes.Name(name="args"), key=name):
            return _words_of("the argument ", _code(name))
        case nodes.Name(name="today" | "now" as name):
            return (Part(name),)
    return (_code(expr),)


def _inner(expr: Expr) -> Words:
    """`and` within `or` stands in parentheses."""
    return _words_of("(", _words(expr), ")") if isinstance(expr, (nodes.And, nodes.Or)) else _words(expr)


def _code(text: Json | Expr) -> Part:
    return Part(str(text)[:LONGEST_QUOTED], is_code=True)


def _words_of(*parts: "str | Part | Words") -> Words:
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Part):
            found.append(part)
        elif isinstance(part, str):
            found.append(Part(part))
        else:
            found.extend(part)
    return tuple(part for part in found if part.text)


_SENTENCES: Mapping[str, Callable[[JsonObject], Words]] = {
    "find": _find,
    "require": _require,
    "let": _let,
    "set": _set,
    "append": _append,
    "add": _add,
    "unset": lambda step: _paths(step, "unset", "Clear "),
    "remove": lambda step: _paths(step, "remove", "Remove "),
    "flag": lambda step: _words_of("Raise the flag ", _value(step["flag"]), "."),
    "unflag": lambda step: _words_of("Lower the flag ", _value(step["unflag"]), "."),
    "fail": lambda step: _words_of(*_refusal(step["fail"], is_first=True), "."),
    "return": _return,
}
