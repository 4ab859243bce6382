"""How a figure went over time: points with their intervals as SVG, and the same figures as text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 480, 120, 32, 18, 8
MOST_POINTS = 90  # days; the latest


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    day: str
    value: float
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class OverTime:
    title: str
    points: tuple[Point, ...]

    @property
    def drawn(self) -> Markup:
        return _drawn(self.title, self.points)


def over_time(
    title: str, days: Sequence[Any], figure: Callable[[Any], Any], value: str, *, most: int = MOST_POINTS
) -> OverTime:
    """Of groups by day, the oldest first; days without a value are left out."""
    found = []
    for day in days[-most:]:
        figure_text = figure(day)
        if figure_text.get(value) is not None:
            interval = figure_text.get("interval")
            interval_ends = (float(interval[0]), float(interval[1])) if interval else None
            found.append(
                Point(
                    day=str(day["day"]),
                    value=float(figure_text[value]),
                    interval=interval_ends,
                    n=int(figure_text["n"]),
                )
            )
    return OverTime(title=title, points=tuple(found))


def _drawn(title: str, points: Sequence[Point]) -> Markup:
    wide, high = WIDTH - LEFT - 8, HEIGHT - BOTTOM - TOP
    step = wide / max(1, len(points) - 1)

    def x(at: int) -> float:
        return LEFT + (at * step if len(points) > 1 else wide / 2)

    def y(value: float) -> float:
        return TOP + high * (1 - value)

    lines = "".join(
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y(level):.1f}" y2="{y(level):.1f}"/>'
        f'<text x="{LEFT - 6}" y="{y(level) + 4:.1f}" text-anchor="end">{level:g}</text>'
        for level in (0, 0.5, 1)
    )
    ranges = "".join(
        f'<line class="range" x1="{x(at):.1f}" x2="{x(at):.1f}" y1="{y(point.interval[0]):.1f}"'
        f' y2="{y(point.interval[1]):.1f}"/>'
        for at, point in enumerate(points)
        if point.interval is not None
    )
    path = " ".join(f"{x(at):.1f},{y(point.value):.1f}" for at, point in enumerate(points))
    dots = "".join(
        f'<circle class="dot" cx="{x(at):.1f}" cy="{y(point.value):.1f}" r="3"/>'
        for at, point in enumerate(points)
    )
    ends = _ends([(x(at), point.day) for at, point in enumerate(points)])
    label = f"{title} by day: " + ", ".join(f"{point.day} {point.value:.2f}" for point in points)
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'{lines}{ranges}<polyline class="series" points="{path}"/>{dots}{ends}</svg>'
    )


def _ends(places: Sequence[tuple[float, str]]) -> str:
    """The first and the last day below the line."""
    if not places:
        return ""
    (left, first), (right, last) = places[0], places[-1]
    if len(places) == 1:
        return f'<text x="{left:.1f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(first)}</text>'
    return (
        f'<text x="{left:.1f}" y="{HEIGHT - 4}">{escape(first)}</text>'
        f'<text x="{right:.1f}" y="{HEIGHT - 4}" text-anchor="end">{escape(last)}</text>'
    )
