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


def line(points: Sequence[float | None], label: str, *, height: int = 40) -> Markup:
    """Values of 0 to 1 in their order, oldest first; a gap where there is none."""
    step = WIDTH / max(1, len(points) - 1)
    places = [
        None if value is None else (at * step, (height - 6) * (1 - value) + 3)
        for at, value in enumerate(points)
    ]
    pieces: list[list[str]] = [[]]
    for place in places:
        if place is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{place[0]:.1f},{place[1]:.1f}")
    lines = "".join(
        f'<polyline class="series" points="{" ".join(piece)}"/>' for piece in pieces if len(piece) > 1
    )
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="2"/>' for x, y in filter(None, places))
    return Markup(
        f'<svg class="chart" viewBox="-3 0 {WIDTH + 6} {height}" height="{height}" role="img"'
        f' aria-label="{escape(label)}"><line class="axis" x1="0" x2="{WIDTH}" y1="{height - 3}"'
        f' y2="{height - 3}"/>{lines}{dots}</svg>'
    )
