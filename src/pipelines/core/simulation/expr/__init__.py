"""Expressions of the plan language as values: frozen nodes (`nodes`), read from text (`parse`), written as
text (`write`), built by the functions of `make`.

Code that makes or looks at an expression uses these and never its text.
"""

from pipelines.core.simulation.expr.nodes import Expr
from pipelines.core.simulation.expr.parse import parse
from pipelines.core.simulation.expr.write import template, written

__all__ = ["Expr", "parse", "template", "written"]
