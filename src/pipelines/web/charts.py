"""Small charts as SVG that the server writes: no script, no inline style, the figures as text beside them."""

from collections.abc import Sequence

from markupsafe import Markup, escape

WIDTH, HEIGHT = 240, 8


def shares(parts: Sequence[tuple[str, int]], label: str) -> Markup:
    """One bar: how many of each kind (`pass`, `fail`, `pending`, `none`)."""
    total = sum(number for _, number in parts)
    drawn, at = [], 0.0
    for kind, number in parts:
        if number:
            wide = WIDTH * number / total
            drawn.append(f'<rect class="{escape(kind)}" x="{at:.1f}" width="{wide:.1f}" height="{HEIGHT}"/>')
            at += wide
    empty = f'<rect class="none" width="{WIDTH}" height="{HEIGHT}" opacity="0.3"/>' if not total else ""
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" height="{HEIGHT}" preserveAspectRatio="none"'
        f' role="img" aria-label="{escape(label)}">{empty}{"".join(drawn)}</svg>'
    )
