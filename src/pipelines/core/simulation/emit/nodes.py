"""Pieces of Python's tree. They all stand at line 1: which step runs is kept in a variable, not in lines."""

import ast
from functools import lru_cache


class _Placed:
    # As attributes of the class: setting them on every node is half the cost of making one.
    lineno = 1
    col_offset = 0
    end_lineno: int | None = 1
    end_col_offset: int | None = 0


class Name(_Placed, ast.Name): ...


class _Attribute(_Placed, ast.Attribute): ...


class _Call(_Placed, ast.Call): ...


class _Constant(_Placed, ast.Constant): ...


class _Compare(_Placed, ast.Compare): ...


class _IfExp(_Placed, ast.IfExp): ...


class _BoolOp(_Placed, ast.BoolOp): ...


class _UnaryOp(_Placed, ast.UnaryOp): ...


class _BinOp(_Placed, ast.BinOp): ...


class _Subscript(_Placed, ast.Subscript): ...


class _List(_Placed, ast.List): ...


class _Dict(_Placed, ast.Dict): ...


class _Tuple(_Placed, ast.Tuple): ...


class _Assign(_Placed, ast.Assign): ...


class _AugAssign(_Placed, ast.AugAssign): ...


class _Expr(_Placed, ast.Expr): ...


class _If(_Placed, ast.If): ...


class _For(_Placed, ast.For): ...


class _Return(_Placed, ast.Return): ...


class _Break(_Placed, ast.Break): ...


class _Continue(_Placed, ast.Continue): ...


class _Pass(_Placed, ast.Pass): ...


class _Raise(_Placed, ast.Raise): ...


class _Try(_Placed, ast.Try): ...


class _ExceptHandler(_Placed, ast.ExceptHandler): ...


class _FunctionDef(_Placed, ast.FunctionDef): ...


class _arg(_Placed, ast.arg): ...


_LOAD, _STORE = ast.Load(), ast.Store()
_OPERATORS: dict[str, ast.cmpop] = {
    "==": ast.Eq(),
    "is": ast.Is(),
    "is not": ast.IsNot(),
    "<": ast.Lt(),
    "<=": ast.LtE(),
    ">": ast.Gt(),
    ">=": ast.GtE(),
    "in": ast.In(),
}
_AND, _OR, _NOT, _SUB, _MULT = ast.And(), ast.Or(), ast.Not(), ast.Sub(), ast.Mult()

BREAK, CONTINUE, PASS = _Break(), _Continue(), _Pass()


@lru_cache(maxsize=4096)  # a node may stand in many places of a tree
def load(name: str) -> Name:
    return Name(id=name, ctx=_LOAD)


@lru_cache(maxsize=4096)
def _store(name: str) -> Name:
    return Name(id=name, ctx=_STORE)


def own(value: int | bool | None) -> ast.expr:
    """A constant of ours, never an author's."""
    return _Constant(value=value)


NONE, TRUE, FALSE, ZERO, ONE = own(None), own(True), own(False), own(0), own(1)


def attribute(value: ast.expr, name: str) -> ast.expr:
    return _Attribute(value=value, attr=name, ctx=_LOAD)


def call(function: ast.expr, *arguments: ast.expr) -> ast.expr:
    return _Call(func=function, args=list(arguments), keywords=[])


def compare(left: ast.expr, operator: str, right: ast.expr) -> ast.expr:
    return _Compare(left=left, ops=[_OPERATORS[operator]], comparators=[right])


def either(test: ast.expr, then: ast.expr, otherwise: ast.expr) -> ast.expr:
    return _IfExp(test=test, body=then, orelse=otherwise)


def both(*parts: ast.expr) -> ast.expr:
    return _BoolOp(op=_AND, values=list(parts))


def one_of(*parts: ast.expr) -> ast.expr:
    return _BoolOp(op=_OR, values=list(parts))


def negated(value: ast.expr) -> ast.expr:
    return _UnaryOp(op=_NOT, operand=value)


def times(left: ast.expr, right: ast.expr) -> ast.expr:
    return _BinOp(left=left, op=_MULT, right=right)


def entry(container: ast.expr, key: ast.expr) -> ast.expr:
    return _Subscript(value=container, slice=key, ctx=_LOAD)


def list_of(parts: list[ast.expr]) -> ast.expr:
    return _List(elts=parts, ctx=_LOAD)


def pair(first: ast.expr, second: ast.expr) -> ast.expr:
    return _Tuple(elts=[first, second], ctx=_LOAD)


def empty_mapping() -> ast.expr:
    return _Dict(keys=[], values=[])


def assign(name: str, value: ast.expr) -> ast.stmt:
    return _Assign(targets=[_store(name)], value=value)


def assign_pair(names: tuple[str, ...], value: ast.expr) -> ast.stmt:
    return _Assign(targets=[_targets(names)], value=value)


def assign_entry(container: ast.expr, key: ast.expr, value: ast.expr) -> ast.stmt:
    return _Assign(targets=[_Subscript(value=container, slice=key, ctx=_STORE)], value=value)


def set_attribute(value: ast.expr, name: str, to: ast.expr) -> ast.stmt:
    return _Assign(targets=[_Attribute(value=value, attr=name, ctx=_STORE)], value=to)


def subtract_attribute(owner: ast.expr, name: str, value: ast.expr) -> ast.stmt:
    return _AugAssign(target=_Attribute(value=owner, attr=name, ctx=_STORE), op=_SUB, value=value)


def do(value: ast.expr) -> ast.stmt:
    return _Expr(value=value)


def when(test: ast.expr, then: list[ast.stmt], otherwise: list[ast.stmt] | None = None) -> ast.stmt:
    return _If(test=test, body=then or [PASS], orelse=otherwise or [])


def loop(
    names: tuple[str, ...], source: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt] | None = None
) -> ast.stmt:
    return _For(target=_targets(names), iter=source, body=body or [PASS], orelse=otherwise or [])


def give(value: ast.expr) -> ast.stmt:
    return _Return(value=value)


def _targets(names: tuple[str, ...]) -> ast.expr:
    return _store(names[0]) if len(names) == 1 else _Tuple(elts=[_store(name) for name in names], ctx=_STORE)


def module(
    function: str, parameter: str, body: list[ast.stmt], caught: ast.expr, error: str, handler: list[ast.stmt]
) -> ast.Module:
    """One function of one parameter; what it catches is handled and rises on."""
    rescue = _ExceptHandler(type=caught, name=error, body=[*handler, _Raise(exc=None, cause=None)])
    guarded = _Try(body=body or [PASS], handlers=[rescue], orelse=[], finalbody=[])
    takes = ast.arguments(
        posonlyargs=[], args=[_arg(arg=parameter)], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    whole = _FunctionDef(name=function, args=takes, body=[guarded], decorator_list=[])
    whole.type_params = []  # type: ignore[attr-defined]  # which 3.12 asks for, and 3.11 does not know
    return ast.Module(body=[whole], type_ignores=[])
