"""Texts: terms written out, changed in case, cut from others, and templates with slots.

A template is what the texts of all examples share; what differs between them is explained as a text of its
own. Values of terms are looked for first, so that one example is enough to see that a reply names its order.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from pipelines.core.simulation.expr import make as m
from pipelines.core.simulation.expr import nodes as n
from pipelines.core.simulation.learning.found import CHARACTERS, Found
from pipelines.core.simulation.learning.numbering import Value
from pipelines.core.simulation.learning.scene import Term, is_scalar
from pipelines.core.simulation.learning.search import Search, Target

SLOT = 1.0
MOST_NAMED = 60  # terms that are looked for in a text
MOST_SLOTS = 8
LONGEST_TEXT = 4_000  # characters that are taken apart
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_CASES: Mapping[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "strip": str.strip,
}


def as_text(value: Value) -> str | None:
    """As `str` of the language writes it; None for what no text names."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if is_scalar(value) else None


def written_out(search: Search, target: Target) -> Found | None:
    """A number as text, with two digits, in another case; the elements of a list joined."""
    best: Found | None = None
    wanted = [target.values[row] for row in target.rows]
    for term in search.scene.terms:
        if best is not None and term.cost >= best.cost:
            continue
        values = [term.values[row] for row in target.rows]
        for expr, texts in _forms(term, values):
            if texts == wanted:
                cost = max(term.cost_for(target.name), 0.3) + 1
                if best is None or cost < best.cost:
                    best = Found(expr=expr, cost=cost)
    return best


def _forms(term: Term, values: Sequence[Value]) -> Iterator[tuple[n.Expr, list[str]]]:
    if all(isinstance(value, str) for value in values):
        for name, change in _CASES.items():
            yield m.call(name, term.expr), [change(value) for value in values]
        for prefix in _prefixes(values):
            yield (
                m.call("replace", term.expr, n.Constant(prefix), n.Constant("")),
                [value.replace(prefix, "") for value in values],
            )
    elif all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        yield m.call("str", term.expr), [str(value) for value in values]
        yield _formatted(term.expr, ".2f"), [f"{value:.2f}" for value in values]
        yield _formatted(term.expr, ",.2f"), [f"{value:,.2f}" for value in values]
    elif all(isinstance(value, list) and value and all(map(is_scalar, value)) for value in values):
        yield m.call("join", term.expr), [", ".join(map(str, value)) for value in values]


def _prefixes(values: Sequence[str]) -> list[str]:
    """What all of them begin with, up to a mark: `#W12` is `W12` elsewhere."""
    marks = {match[0] for value in values if (match := re.match(r"[^\w\s]+|\w{1,6}[-_#:]", value))}
    return list(marks) if len(marks) == 1 else []


def _formatted(expr: n.Expr, spec: str) -> n.Expr:
    return n.Format((n.FormattedValue(expr, spec),))


def template(search: Search, target: Target) -> Found | None:
    texts = [target.values[row] for row in target.rows]
    if any(len(text) > LONGEST_TEXT for text in texts) or max(map(len, texts)) < 2:
        return None
    named = _named(search, target, texts)
    marked = [_marked(text, named, at) for at, text in enumerate(texts)]
    common = _common([_TOKENS(text) for text in marked])
    if common is None:
        return None
    return _filled(search, target, marked, common, named)


def _TOKENS(text: str) -> list[str]:
    return re.findall(r"\ue000\d+\ue001|\w+|\s+|[^\w\s]", text)


def _named(search: Search, target: Target, texts: Sequence[str]) -> list[tuple[n.Expr, list[str], float]]:
    """Terms whose value every one of the texts has as a whole word, longest first."""
    found: list[tuple[n.Expr, list[str], float]] = []
    taken: set[tuple[str, ...]] = set()
    rows = target.rows
    for term in sorted(search.scene.terms, key=lambda one: one.cost)[: 6 * MOST_NAMED]:
        for expr, values in _spellings(term, [term.values[row] for row in rows]):
            key = tuple(values)
            if key in taken or not all(_has(text, value) for text, value in zip(texts, values, strict=True)):
                continue
            shortest = 2 if term.is_argument else 3
            if not any(len(value) >= shortest or value.isdigit() for value in values):
                continue
            if len(set(values)) == 1 and len(rows) > 1 and not (term.is_argument or len(values[0]) > 3):
                continue
            taken.add(key)
            found.append((expr, values, term.cost))
    found.sort(key=lambda one: (-min(map(len, one[1])), one[2]))
    return found[:MOST_NAMED]


def _spellings(term: Term, values: Sequence[Value]) -> Iterator[tuple[n.Expr, list[str]]]:
    if all(isinstance(value, str) and value for value in values):
        yield term.expr, list(values)
    elif all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        yield term.expr, [str(value) for value in values]
        if any(isinstance(value, float) for value in values):
            yield _formatted(term.expr, ".2f"), [f"{value:.2f}" for value in values]


def _has(text: str, value: str) -> bool:
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() and value[0].isalnum()) and not (after.isalnum() and value[-1].isalnum()):
            return True
        at = text.find(value, at + 1)
    return False


def _marked(text: str, named: Sequence[tuple[n.Expr, list[str], float]], row: int) -> str:
    for number, (_, values, _) in enumerate(named):
        value = values[row]
        pattern = (r"(?<![\w\ue000])" if value[0].isalnum() else "") + re.escape(value)
        pattern += r"(?![\w\ue001])" if value[-1].isalnum() else ""
        text = re.sub(pattern, f"\ue000{number}\ue001", text)
    return text


def _common(texts: Sequence[list[str]]) -> list[str] | None:
    """The tokens that all of them have, in order; None where that is next to nothing."""
    shared = texts[0]
    for other in texts[1:]:
        if other == shared:
            continue
        blocks = difflib.SequenceMatcher(None, shared, other, autojunk=False).get_matching_blocks()
        shared = [token for block in blocks for token in shared[block.a : block.a + block.size]]
    solid = [token for token in shared if token.strip()]
    return shared if solid and (len(texts) > 1 or any("\ue000" in token for token in solid)) else None


def _filled(
    search: Search,
    target: Target,
    marked: Sequence[str],
    common: list[str],
    named: Sequence[tuple[n.Expr, list[str], float]],
) -> Found | None:
    split = [_slots(_TOKENS(text), common) for text in marked]
    if any(one is None for one in split):
        return None
    parts: list[str | n.FormattedValue] = []
    found: list[Found] = []
    cost = 1.0
    for at in range(len(common) + 1):
        gaps = [_unmarked(one[at], named, row) for row, one in enumerate(split) if one is not None]
        if any(gaps):
            slot = _slot(search, target, gaps) if len(found) < MOST_SLOTS else None
            if slot is None:
                return None
            found.append(slot)
            parts.append(n.FormattedValue(slot.expr))
        if at < len(common):
            cost += _append(parts, common[at], named)
    whole = n.Format(tuple(_merged(parts)))
    if not any(isinstance(part, n.FormattedValue) for part in whole.parts):
        return None
    head = Found(expr=whole, cost=cost)
    return head.within(whole, *found, cost=SLOT * len(found))


def _slots(tokens: list[str], common: list[str]) -> list[str] | None:
    """What stands before each of the common tokens, and after the last."""
    gaps, gap, at = [], "", 0
    blocks = difflib.SequenceMatcher(None, tokens, common, autojunk=False).get_matching_blocks()
    if sum(block.size for block in blocks) < len(common):
        return None
    kept = {index for block in blocks for index in range(block.a, block.a + block.size)}
    for index, token in enumerate(tokens):
        if index in kept:
            gaps.append(gap)
            gap, at = "", at + 1
        else:
            gap += token
    return [*gaps, gap]


def _unmarked(text: str, named: Sequence[tuple[n.Expr, list[str], float]], row: int) -> str:
    return re.sub(r"\ue000(\d+)\ue001", lambda match: named[int(match[1])][1][row], text)


def _slot(search: Search, target: Target, gaps: Sequence[str]) -> Found | None:
    values: list[Value] = [""] * len(target.values)
    for row, gap in zip(target.rows, gaps, strict=True):
        values[row] = gap
    return search.explain(Target(values=values, rows=target.rows, name="", effort=0))


def _append(
    parts: list[str | n.FormattedValue], token: str, named: Sequence[tuple[n.Expr, list[str], float]]
) -> float:
    mark = re.fullmatch(r"\ue000(\d+)\ue001", token)
    if mark is None:
        parts.append(token)
        return len(token) / CHARACTERS / 2
    expr, _, cost = named[int(mark[1])]
    if isinstance(expr, n.Format) and isinstance(expr.parts[0], n.FormattedValue):
        parts.append(expr.parts[0])
    else:
        parts.append(n.FormattedValue(expr))
    return min(cost, 1.0)


def _merged(parts: Sequence[str | n.FormattedValue]) -> Iterator[str | n.FormattedValue]:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
            text = ""
        yield part
    if text:
        yield text
