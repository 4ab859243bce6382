"""Values that a backend draws: ids, codes and times that neither the arguments nor the world have.

They are compared by their kind, so an expression that draws a value of the same layout is right.
"""

import re
from collections.abc import Sequence

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.fidelity.likeness import _DRAWN_KEY as DRAWN_KEY
from pipelines.core.simulation.fidelity.likeness import _UUID as UUID
from pipelines.core.simulation.learning.found import Found
from pipelines.core.simulation.learning.search import Search, Target

COST = 9.0  # anything that is really an expression is better
_TIMES = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "%Y-%m-%dT%H:%M:%SZ"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "%Y-%m-%dT%H:%M:%S"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "%Y-%m-%d %H:%M:%S"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "%Y-%m-%d %H:%M"),
    (r"\d{4}-\d\d-\d\d", "%Y-%m-%d"),
    (r"\d\d:\d\d [AP]M", "%I:%M %p"),
    (r"\d\d:\d\d:\d\d", "%H:%M:%S"),
)


def drawn_text(search: Search, target: Target) -> Found | None:
    texts = [target.values[row] for row in target.rows]
    if all(UUID.fullmatch(text) for text in texts):
        return Found(expr=m.call("uuid"), cost=COST)
    for pattern, written in _TIMES:
        if all(re.fullmatch(pattern, text) for text in texts) and len(set(texts)) > 1:
            return Found(expr=m.call("format_date", m.NOW, n.Constant(written)), cost=COST)
    if target.name and DRAWN_KEY.search(target.name) and len(set(texts)) == len(texts) > 1:
        return _laid_out(texts)
    return None


def drawn_number(search: Search, target: Target) -> Found | None:
    numbers = [target.values[row] for row in target.rows]
    is_code = target.name and DRAWN_KEY.search(target.name) and len(set(numbers)) == len(numbers) > 1
    widths = {len(str(number)) for number in numbers}
    if (
        not is_code
        or len(widths) != 1
        or not all(isinstance(number, int) and number > 99 for number in numbers)
    ):
        return None
    [width] = widths
    return Found(expr=_digits(width), cost=COST)


def _digits(width: int) -> n.Expr:
    return m.call("random_int", n.Constant(10 ** (width - 1)), n.Constant(10**width - 1))


def _laid_out(texts: Sequence[str]) -> Found | None:
    """A beginning that all share, then digits, or digits and letters."""
    prefix = texts[0]
    for text in texts:
        while not text.startswith(prefix):
            prefix = prefix[:-1]
    prefix = prefix.rstrip("0123456789") or prefix
    rests = [text[len(prefix) :] for text in texts]
    width = len(rests[0])
    if width < 3 or any(len(rest) != width or not rest.isalnum() for rest in rests):
        return None
    if all(rest.isdigit() for rest in rests):
        part = m.call(
            "pad", m.call("random_int", n.Constant(0), n.Constant(10**width - 1)), n.Constant(width)
        )
    else:
        part = m.call("token", n.Constant(width))
        if any(rest != rest.lower() for rest in rests):
            part = m.call("upper", part)
    return Found(expr=n.Format(((prefix,) if prefix else ()) + (n.FormattedValue(part),)), cost=COST)
