"""How numbers, times and sizes are written on a page."""

from datetime import UTC, datetime

from markupsafe import Markup

from pipelines.core.text.json_text import Json, dumps

MISSING = "–"


def when(moment: str | None, form: str = "ago") -> Markup:
    """A stored timestamp; the page's script writes it in the reader's zone, as `ago` or `exact`."""
    if not moment:
        return Markup(MISSING)
    try:
        read = datetime.fromisoformat(moment)
    except ValueError:
        return Markup("{}").format(moment)
    utc = read.astimezone(UTC) if read.tzinfo is not None else read.replace(tzinfo=UTC)
    text = utc.strftime("%Y-%m-%d %H:%M:%S UTC")
    return Markup('<time datetime="{}" data-as="{}" title="{}">{}</time>').format(
        utc.isoformat(), form, text, text if form == "exact" else utc.strftime("%Y-%m-%d %H:%M")
    )


def ticked(text: str) -> Markup:
    """A sentence of ours in which names stand in backticks: these are set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # one without its other
        return Markup("{}").format(text)
    marked = [Markup("<code>{}</code>" if at % 2 else "{}").format(part) for at, part in enumerate(parts)]
    return Markup("").join(marked)


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return MISSING
    if milliseconds < 10:
        return f"{milliseconds:.1f} ms"
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    seconds = milliseconds / 1000
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def count(number: float | None) -> str:
    return MISSING if number is None else f"{number:,}"


def some(number: int, one: str, many: str | None = None) -> str:
    """3 runs, 1 run."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int | None) -> str:
    if number is None:
        return MISSING
    for unit, base in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= base:
            return f"{number / base:.1f} {unit}"
    return f"{number} B"


def percent(share: float | None, digits: int = 0) -> str:
    return MISSING if share is None else f"{share * 100:.{digits}f} %"


def interval(low: float | None, high: float | None) -> str:
    """A 95 % interval, beside or behind the estimate it belongs to."""
    return "" if low is None or high is None else f"{low * 100:.0f}–{high * 100:.0f} %"


def cost(dollars: float | None) -> str:
    if dollars is None:
        return MISSING
    return f"${dollars:.4f}" if 0 < dollars < 0.01 else f"${dollars:,.2f}"


def json_short(value: Json, most: int = 200) -> str:
    """A value as JSON in one line; of a long one the beginning."""
    text = dumps(value).decode()
    return text if len(text) <= most else f"{text[:most]}…"
