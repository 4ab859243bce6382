"""Which function writes which part of an expression: the counterpart of `simulation.expressions`."""

import ast
from collections.abc import Mapping

from pipelines.core.simulation.emit import fields, loops, operators
from pipelines.core.simulation.emit.writer import Visitor
from pipelines.core.simulation.syntax.compiler import Given

VISITORS: Mapping[type[ast.expr], Visitor] = {
    Given: fields.constant,
    ast.Constant: fields.constant,
    ast.Name: fields.name,
    ast.Attribute: fields.attribute,
    ast.Subscript: fields.subscript,
    ast.List: fields.list_literal,
    ast.Dict: fields.dict_literal,
    ast.JoinedStr: fields.f_string,
    ast.FormattedValue: fields.formatted,
    ast.BinOp: operators.binary,
    ast.UnaryOp: operators.unary,
    ast.BoolOp: operators.boolean,
    ast.IfExp: operators.conditional,
    ast.Compare: operators.comparison,
    ast.ListComp: loops.list_comprehension,
    ast.GeneratorExp: loops.list_comprehension,
    ast.SetComp: loops.set_comprehension,
    ast.DictComp: loops.dict_comprehension,
    ast.Call: loops.call_of,
}
