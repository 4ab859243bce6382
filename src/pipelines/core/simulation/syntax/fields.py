"""Names, fields, positions and literals. A dot reads a key of a mapping, never an attribute of an object."""

import ast

from pipelines.core.simulation import arithmetic
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.expression_text import did_you_mean
from pipelines.core.simulation.syntax.compiler import CONSTANTS, Compiler, Evaluate
from pipelines.core.simulation.syntax.functions import FUNCTIONS
from pipelines.core.simulation.values import (
    MAX_INTEGER,
    MISSING,
    Entity,
    Stopped,
    Value,
    as_text,
    check_length,
    elements,
    is_blank,
    is_number,
    key_text,
    kind_of,
)

_DIGITS = "0123456789"


def constant(compiler: Compiler, node: ast.Constant) -> Evaluate:
    value: Value = node.value
    if isinstance(value, float):
        value = arithmetic.number_in(repr(value))
        if value is None:
            compiler.complain("a number is out of range")
    elif isinstance(value, int) and not isinstance(value, bool) and abs(value) >= MAX_INTEGER:
        compiler.complain("a number is out of range")
    elif not (value is None or isinstance(value, (bool, int, str))):
        compiler.complain(f"{type(value).__name__} values are not part of the language")
    return lambda call: value


def name(compiler: Compiler, node: ast.Name) -> Evaluate:
    read = node.id
    if read in CONSTANTS:
        value = CONSTANTS[read]
        return lambda call: value
    if read in compiler.names:
        return lambda call: call.names[read]
    if read in FUNCTIONS:
        compiler.complain(f"`{read}` is a function", f"call it: {FUNCTIONS[read].signature}")
    else:
        compiler.complain(f"`{read}` is not defined here", did_you_mean(read, compiler.names))
    return lambda call: None


def attribute(compiler: Compiler, node: ast.Attribute) -> Evaluate:
    key, base = node.attr, node.value
    if key.startswith("__"):
        compiler.complain(
            f"`{key}` is not a field", "a field that begins with two underscores is x['__name']"
        )
    _check_argument(compiler, base, key)
    inner = compiler.compile(base)
    if key == "id":
        return lambda call: id_field(inner(call))
    if isinstance(base, ast.Name) and base.id not in CONSTANTS:
        return _field_of_name(base.id, key)
    return lambda call: field(inner(call), key)


def field(value: Value, key: str) -> Value:
    """Any field but `id`."""
    return value.get(key, MISSING) if isinstance(value, dict) else no_field(value, key)


def _field_of_name(name: str, key: str) -> Evaluate:
    """The commonest expression of all, one call shorter."""

    def read(call: Call) -> Value:
        value = call.names[name]
        return value.get(key, MISSING) if isinstance(value, dict) else no_field(value, key)

    return read


def id_field(value: Value) -> Value:
    """An entity whose attributes do not repeat its id still has one."""
    found = value.get("id", MISSING) if isinstance(value, dict) else no_field(value, "id")
    return value.id if found is MISSING and isinstance(value, Entity) else found


def no_field(value: Value, key: str) -> Value:
    if is_blank(value):
        return MISSING
    hint = f"; write [x.{key} for x in …]" if isinstance(value, list) else ""
    raise Stopped("plan_type", f"{kind_of(value)} has no field `{key}`{hint}")


def _check_argument(compiler: Compiler, base: ast.expr, key: object) -> None:
    is_argument = isinstance(base, ast.Name) and base.id == "args" and isinstance(key, str)
    if is_argument and compiler.arguments is not None and key not in compiler.arguments:
        compiler.complain(f"the tool has no argument `{key}`", did_you_mean(str(key), compiler.arguments))


def subscript(compiler: Compiler, node: ast.Subscript) -> Evaluate:
    inner = compiler.compile(node.value)
    if isinstance(node.slice, ast.Slice):
        return _slice(compiler, inner, node.slice)
    if isinstance(node.slice, ast.Constant):
        _check_argument(compiler, node.value, node.slice.value)
    key = compiler.compile(node.slice)
    return lambda call: item(inner(call), key(call))


def item(container: Value, key: Value) -> Value:
    """`container[key]`: missing where there is no such key or position."""
    if isinstance(container, dict):
        if key == "id":
            return id_field(container)
        return MISSING if is_blank(key) else container.get(key_text(key), MISSING)
    if isinstance(container, (list, str)):
        at = position(key)
        return container[at] if -len(container) <= at < len(container) else MISSING
    if is_blank(container):
        return MISSING
    raise Stopped("plan_type", f"{kind_of(container)} has no elements")


def position(key: Value) -> int:
    if not is_number(key) or key != int(key):
        raise Stopped("plan_type", f"a position in a list is a whole number, not {kind_of(key)}")
    return int(key)


def _slice(compiler: Compiler, inner: Evaluate, node: ast.Slice) -> Evaluate:
    if node.step is not None:
        compiler.complain("slices have no step", "reversed(list) turns a list round")
    lower = compiler.compile(node.lower) if node.lower else None
    upper = compiler.compile(node.upper) if node.upper else None

    def cut(call: Call) -> Value:
        value = inner(call)
        if not can_be_cut(value):
            return MISSING
        start = None if lower is None else position(lower(call))
        end = None if upper is None else position(upper(call))
        return sliced(value, start, end, call)

    return cut


def sliced(value: Value, start: int | None, end: int | None, call: Call) -> Value:
    first, last, _ = slice(start, end).indices(len(value))
    check_length(value, max(0, last - first), call)
    return value[start:end]


def can_be_cut(value: Value) -> bool:
    """Whether there is something to cut at all; what is neither a list nor a text stops the plan."""
    if not is_blank(value) and not isinstance(value, (list, str)):
        raise Stopped("plan_type", f"only lists and texts can be cut, not {kind_of(value)}")
    return not is_blank(value)


def list_literal(compiler: Compiler, node: ast.List) -> Evaluate:
    if any(isinstance(element, ast.Starred) for element in node.elts):
        return _list_with_spreads(compiler, node)
    parts = compiler.all(node.elts)
    return lambda call: [part(call) for part in parts]


def _list_with_spreads(compiler: Compiler, node: ast.List) -> Evaluate:
    spreads = [isinstance(element, ast.Starred) for element in node.elts]
    parts = compiler.all([e.value if isinstance(e, ast.Starred) else e for e in node.elts])

    def build(call: Call) -> Value:
        found: list[Value] = []
        for part, spread in zip(parts, spreads, strict=True):
            spread_out(found, part(call), call) if spread else found.append(part(call))
        return found

    return build


def spread_out(found: list[Value], value: Value, call: Call) -> None:
    """`[*value]`: its elements at the end of what was found before."""
    more = elements(value)
    check_length(found, len(found) + len(more), call)
    found.extend(more)


def dict_literal(compiler: Compiler, node: ast.Dict) -> Evaluate:
    keys = [None if key is None else compiler.compile(key) for key in node.keys]
    return mapping_of(list(zip(keys, compiler.all(node.values), strict=True)))


def mapping_of(entries: list[tuple[str | Evaluate | None, Evaluate]]) -> Evaluate:
    """A mapping from entries; one without a key is spread, and what is missing is left out."""

    def build(call: Call) -> Value:
        found: dict[str, Value] = {}
        for key, part in entries:
            value = part(call)
            if key is None:
                found |= mapping(value, call)
            elif value is not MISSING:
                found[key if isinstance(key, str) else key_text(key(call))] = value
        return found

    return build


def mapping(value: Value, call: Call) -> dict[str, Value]:
    if isinstance(value, dict):
        call.spend(2 * len(value))
        return value
    if is_blank(value):
        return {}
    raise Stopped("plan_type", f"a mapping is needed, not {kind_of(value)}")


def f_string(compiler: Compiler, node: ast.JoinedStr) -> Evaluate:
    parts = compiler.all(node.values)
    return lambda call: joined([as_text(part(call), call) for part in parts], call)


def joined(parts: list[str], call: Call) -> Value:
    check_length("", sum(map(len, parts)), call)
    return "".join(parts)


def formatted(compiler: Compiler, node: ast.FormattedValue) -> Evaluate:
    """`{x}`, `{x:.2f}` and `{x:,.2f}`: Python's other formats reach into objects."""
    inner = compiler.compile(node.value)
    if node.conversion != -1:
        compiler.complain("`!r` and the like are not part of the language", "write {x}")
    if node.format_spec is None:
        return inner
    spec = format_of(node.format_spec)
    places = spec.removeprefix(",").removeprefix(".").removesuffix("f")
    if f".{places}f" != spec.removeprefix(",") or len(places) != 1 or places not in _DIGITS:
        compiler.complain(f"the format `{spec}` is not known", "write {x:.2f} or {x:,.2f}")
        return inner
    return lambda call: shown(inner(call), spec)


def format_of(node: ast.expr) -> str:
    return "".join(str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant))


def shown(value: Value, spec: str) -> Value:
    """A number in one of the two formats, `.2f` or `,.2f`."""
    if not is_number(value):
        raise Stopped("plan_type", f"only a number can be shown as {spec}, not {kind_of(value)}")
    return format(arithmetic.round_half_up(value, int(spec[-2])), spec)
