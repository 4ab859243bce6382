"""A JSON value as HTML that folds: two levels open, long texts cut to their beginning, huge ones to a bound.

Written in Python and not as a template since a trace has hundreds of them. Everything is escaped here.
"""

from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

from pipelines.core.text.json_text import Json, dumps

OPEN_DEPTH = 2
MOST_VALUES = 400  # of one view; the rest is in the download
FOLDED_CHARS = 400
FOLDED_LINES = 6
MOST_CHARS = 20_000  # of one text
MOST_VIEW_CHARS = 100_000  # of all texts of one view
_SHORT_LINE = 72  # an array or object of plain values that fits is written in one line
_LINE_CHARS = 90  # of a value that stands in a line of its own fields
_LINE_VALUES, _LINE_TEXT = 60, 2_000  # of a longer one, when it is unfolded

#: What would be invisible, or turn the text around it, is named instead. Joiners stay: scripts and emoji
#: need them.
_TURNING = (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSEEN = (0x200B, 0x2028, 0x2029, 0x2060, 0xFEFF, *range(0x80, 0xA0))
_NAMED = {code: chr(0x2400 + code) for code in range(0x20) if code not in (9, 10, 13)} | {0x7F: "␡"}
_NAMED |= {code: f"⟨U+{code:04X}⟩" for code in (*_TURNING, *_UNSEEN)}


class _Budget:
    """How many values and characters of texts one view still may show."""

    def __init__(self, values: int = MOST_VALUES, chars: int = MOST_VIEW_CHARS) -> None:
        self.left = values
        self.chars = chars

    def take(self) -> bool:
        self.left -= 1
        return self.left >= 0


def visible(text: str) -> str:
    """Foreign text with what cannot be seen named: a mark that turns the direction of text could make one
    tool look like another."""
    return text if text.isascii() and text.isprintable() else text.translate(_NAMED)


def json_line(value: Json) -> Markup:
    """A short value in one line; a longer one folded, so that a list of fields stays a list."""
    if isinstance(value, dict | list):
        text = dumps(value).decode()
        if len(text) > _LINE_CHARS:
            inside = "".join(_render_value(value, 0, _Budget(_LINE_VALUES, _LINE_TEXT)))
            return Markup(f'<div class="json">{inside}</div>')
        return Markup(f'<span class="json">{_safe(text)}</span>')
    return Markup(f'<span class="json">{_leaf(value, _Budget(1, _LINE_TEXT))}</span>')


def _safe(text: str) -> str:
    return str(escape(visible(text)))


def json_view(value: Json, *, depth: int = OPEN_DEPTH) -> Markup:
    budget = _Budget()
    inside = "".join(_render_value(value, depth, budget))
    return Markup(f'<div class="json">{inside}</div>')


def folded_text(text: str, *, css: str = "said", most: int = MOST_CHARS) -> Markup:
    """Foreign text, never markup and never a link; past six lines it folds."""
    cut = text[:most]
    cut_off = len(text) - len(cut)
    whole = _safe(cut) + (f'<span class="soft"> … {cut_off:,} characters more</span>' if cut_off else "")
    lines = cut.splitlines()
    if len(cut) <= FOLDED_CHARS and len(lines) <= FOLDED_LINES:
        return Markup(f'<div class="{css}">{whole}</div>')
    start = _safe("\n".join(lines[:2])[:160].rstrip())
    return Markup(
        f'<details class="fold"><summary><span class="{css}">{start}</span> <span class="rest">'
        f'… show all {len(text):,} characters</span></summary><div class="{css}">{whole}</div></details>'
    )


def _render_value(value: Json, depth: int, budget: _Budget) -> Iterator[str]:
    if not budget.take():
        yield '<span class="soft">… more, in the JSON</span>'
    elif isinstance(value, dict):
        yield from _many(value, "{}", depth, budget, list(value.items()), _named)
    elif isinstance(value, list):
        yield from _many(value, "[]", depth, budget, list(enumerate(value)), _placed)
    else:
        yield _leaf(value, budget)


def _many(
    value: Json,
    brackets: str,
    depth: int,
    budget: _Budget,
    items: Sequence[tuple[str | int, Json]],
    name: Callable[[str | int], str],
) -> Iterator[str]:
    begin, end = brackets[0], brackets[1]
    if not items:
        yield brackets
        return
    if len(items) <= 8 and all(not isinstance(part, dict | list) for _, part in items):
        line = ", ".join(name(key) + _leaf(part, budget) for key, part in items)
        budget.left -= len(items)
        if sum(len(str(key)) + len(str(part)) + 4 for key, part in items) <= _SHORT_LINE:
            yield f"{begin} {line} {end}"
            return
    is_open = " open" if depth > 0 else ""
    noun = "field" if begin == "{" else "item"
    many = f"{len(items):,} {noun}{'s' if len(items) != 1 else ''}"
    yield f'<details{is_open}><summary>{begin}<span class="soft"> {many} </span>{end}</summary>'
    yield '<div class="in">'
    for key, part in items:
        if budget.left <= 0:
            yield '<div class="soft">… more, in the JSON</div>'
            break
        yield f"<div>{name(key)}"
        yield from _render_value(part, depth - 1, budget)
        yield "</div>"
    yield "</div></details>"


def _named(key: str | int) -> str:
    return f'<span class="k">{_safe(str(key)[:200])}:</span> '


def _placed(key: str | int) -> str:
    return ""


def _leaf(value: Json, budget: _Budget) -> str:
    if isinstance(value, str):
        most = max(0, min(MOST_CHARS, budget.chars))
        budget.chars -= min(len(value), most)
        if len(value) > most:
            return str(folded_text(value, css="s", most=max(most, 40)))
        if len(value) > FOLDED_CHARS or value.count("\n") >= FOLDED_LINES:
            return str(folded_text(value, css="s"))
        return f'<span class="s">"{_safe(value)}"</span>'
    if value is None or isinstance(value, bool):
        return f'<span class="c">{ {None: "null", True: "true", False: "false"}[value] }</span>'
    return f'<span class="n">{value}</span>'
