"""Literals, names and fields as code. Each function mirrors one of `syntax.fields`, in the same order."""

import ast

from pipelines.core.simulation import arithmetic
from pipelines.core.simulation.emit import nodes
from pipelines.core.simulation.emit.writer import Writer
from pipelines.core.simulation.syntax import fields
from pipelines.core.simulation.syntax.compiler import CONSTANTS, Given
from pipelines.core.simulation.values import as_text, key_text


def constant_value(node: ast.expr) -> object:
    """What a literal stands for; NotImplemented for anything else."""
    if isinstance(node, Given):
        return node.value
    if isinstance(node, ast.Constant):
        return arithmetic.number_in(repr(node.value)) if isinstance(node.value, float) else node.value
    if isinstance(node, ast.Name) and node.id in CONSTANTS:
        return CONSTANTS[node.id]
    return NotImplemented


def constant(w: Writer, node: ast.Constant | Given) -> ast.expr:
    found = constant_value(node)
    return nodes.own(found) if found is None or isinstance(found, bool) else w.constant(found)


def name(w: Writer, node: ast.Name) -> ast.expr:
    if node.id in CONSTANTS:
        return nodes.own(CONSTANTS[node.id])
    w.read.add(node.id)
    code = w.scope[node.id].code
    return code if isinstance(code, nodes.Name) else w.let(code)


def _is_known_mapping(w: Writer, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id not in CONSTANTS and w.scope[node.id].known != "value"


def attribute(w: Writer, node: ast.Attribute) -> ast.expr:
    if node.attr == "id":
        return _id(w, node.value)
    is_mapping, base = _is_known_mapping(w, node.value), w.held_value(node.value)
    key = w.constant(node.attr)
    read = nodes.either(nodes.compare(key, "in", base), nodes.entry(base, key), w.missing)
    if is_mapping:
        return read
    read = nodes.call(nodes.attribute(base, "get"), key, w.missing)
    is_mapping_now = nodes.call(w.function(isinstance), base, w.function(dict))
    return w.let(nodes.either(is_mapping_now, read, nodes.call(w.function(fields.no_field), base, key)))


def _id(w: Writer, node: ast.expr) -> ast.expr:
    known = w.scope[node.id].id if isinstance(node, ast.Name) and node.id not in CONSTANTS else None
    if known is None:
        return w.result(fields.id_field, w.value(node))
    key, attrs = w.constant("id"), w.held_value(node)
    return nodes.either(nodes.compare(key, "in", attrs), nodes.entry(attrs, key), known)


def subscript(w: Writer, node: ast.Subscript) -> ast.expr:
    if isinstance(node.slice, ast.Slice):
        return _slice(w, node.value, node.slice)
    key = constant_value(node.slice)
    if _is_known_mapping(w, node.value) and isinstance(key, str) and key != "id":
        return nodes.call(nodes.attribute(w.held_value(node.value), "get"), w.constant(key), w.missing)
    container = w.value(node.value)
    return w.result(fields.item, container, w.value(node.slice))


def _slice(w: Writer, node: ast.expr, bounds: ast.Slice) -> ast.expr:
    whole = w.held_value(node)
    result = w.new_name()
    with w.block() as there:
        ends = [
            None if end is None else w.result(fields.position, w.value(end))
            for end in (bounds.lower, bounds.upper)
        ]
        bounds_of = [nodes.NONE if end is None else end for end in ends]
        w.add(nodes.assign(result, nodes.call(w.function(fields.sliced), whole, *bounds_of, w.call)))
    can = nodes.call(w.function(fields.can_be_cut), whole)
    w.add(nodes.when(can, there, [nodes.assign(result, w.missing)]))
    return nodes.load(result)


def list_literal(w: Writer, node: ast.List) -> ast.expr:
    if not any(isinstance(element, ast.Starred) for element in node.elts):
        return w.let(nodes.list_of([w.value(element) for element in node.elts]))
    found = w.let(nodes.list_of([]))
    for element in node.elts:
        if isinstance(element, ast.Starred):
            w.run(fields.spread_out, found, w.value(element.value), w.call)
        else:
            w.add(nodes.do(nodes.call(nodes.attribute(found, "append"), w.value(element))))
    return found


def dict_literal(w: Writer, node: ast.Dict) -> ast.expr:
    found = w.let(nodes.empty_mapping())
    for key, part in zip(node.keys, node.values, strict=True):
        if key is None:
            spread = nodes.call(w.function(fields.mapping), w.value(part), w.call)
            w.add(nodes.do(nodes.call(nodes.attribute(found, "update"), spread)))
            continue
        entry = w.held_value(part)
        with w.block() as there:
            name = constant_value(key)
            spelled = w.constant(name) if isinstance(name, str) else w.result(key_text, w.value(key))
            w.add(nodes.assign_entry(found, spelled, entry))
        w.add(nodes.when(nodes.compare(entry, "is not", w.missing), there))
    return found


def f_string(w: Writer, node: ast.JoinedStr) -> ast.expr:
    parts = []
    for part in node.values:
        text = constant_value(part)
        text_node = w.constant(text) if isinstance(text, str) else w.result(as_text, w.value(part), w.call)
        parts.append(text_node)
    return w.result(fields.joined, nodes.list_of(parts), w.call)


def formatted(w: Writer, node: ast.FormattedValue) -> ast.expr:
    inner = w.value(node.value)
    if node.format_spec is None:
        return inner
    return w.result(fields.shown, inner, w.constant(fields.format_of(node.format_spec)))
