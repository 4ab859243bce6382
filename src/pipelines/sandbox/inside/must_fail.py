"""Rewrites tests so that each of them must fail, after its own code has run: where one then passes, somebody
tells the grader what it wants to hear. Standard library only."""

from __future__ import annotations

import ast

_MOST_BYTES = 1 << 20


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.within: list[str] = []
        self.found: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.within.append(node.name)
        self.generic_visit(node)
        self.within.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._failing(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._failing(node)

    def _failing(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """`finally` also overrides a return, and an exception that means something to the runner. A division
        by zero looks up no name that code under test could have replaced."""
        if node.name.startswith("test"):
            self.found.append("::".join([*self.within, node.name]))
            division = ast.BinOp(left=ast.Constant(1), op=ast.Div(), right=ast.Constant(0))
            node.body = [
                ast.Try(body=node.body, handlers=[], orelse=[], finalbody=[ast.Expr(value=division)])
            ]
        return node


def failing_tests(source: bytes) -> tuple[str, list[str]] | None:
    """The source with tests that fail, and their names; None where there are none, or it is no Python."""
    if len(source) > _MOST_BYTES:
        return None
    try:
        tree = ast.parse(source)
        rewriter = _Rewriter()
        text = ast.unparse(ast.fix_missing_locations(rewriter.visit(tree)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return (text + "\n", rewriter.found) if rewriter.found else None
