"""Python's own parser, one text at a time.

Before 3.12 CPython counts the depth of a tree it builds in one place for all threads: two that build at once
can make one of them fail with SystemError, whatever its text.
"""

import ast
import threading
from types import CodeType

_ONE_AT_A_TIME = threading.Lock()


def expression_tree(text: str) -> ast.expr:
    with _ONE_AT_A_TIME:
        return ast.parse(text, mode="eval").body


def module_tree(text: str, filename: str) -> ast.Module:
    with _ONE_AT_A_TIME:
        return ast.parse(text, filename)


def compiled(tree: ast.Module, filename: str) -> CodeType:
    with _ONE_AT_A_TIME:
        return compile(tree, filename, "exec")
