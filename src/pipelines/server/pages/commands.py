"""What a visitor can do, as commands that the finder offers: each leads to the page where it is done."""

from collections.abc import Callable, Iterator

from pipelines.server.pages.page import PLACES
from pipelines.server.pages.settings.settings import TABS
from pipelines.wire.names import Role

#: (what it does, path, the role that it needs)
_ACTIONS = (
    ("Start a run", "/batches/new", Role.CONTRIBUTOR),
    ("Register an agent", "/agents/new", Role.CONTRIBUTOR),
    ("Upload a dataset", "/datasets/new", Role.CONTRIBUTOR),
    ("Generate a world", "/worlds/new", Role.CONTRIBUTOR),
    ("Write a scenario", "/evals/scenarios/new", Role.CONTRIBUTOR),
    ("Start a matrix", "/evals/new", Role.CONTRIBUTOR),
    ("Compare two batches", "/compare/batches", Role.VIEWER),
    ("Compare two runs", "/compare/runs", Role.VIEWER),
    ("Show evals over time", "/evals/summary", Role.VIEWER),
    ("Manage API keys", "/settings/keys", Role.ADMIN),
    ("Add a tool endpoint", "/settings/endpoints", Role.CONTRIBUTOR),
    ("Set a credential", "/settings/credentials", Role.CONTRIBUTOR),
)


def commands_for(typed: str, may: Callable[[str], bool]) -> list[tuple[str, str]]:
    """(label, path) of those that have every typed word, or its beginning; without words, all actions."""
    words = typed.lower().split()
    offered = _all() if words else _ACTIONS
    return [(label, path) for label, path, role in offered if may(role.value) and _has_words(label, words)]


def _all() -> Iterator[tuple[str, str, Role]]:
    yield from _ACTIONS
    yield from ((f"Go to {label}", path, Role.VIEWER) for _, label, path in PLACES)
    yield from ((f"Go to Settings: {label}", path, role) for _, label, path, role in TABS)


def _has_words(label: str, words: list[str]) -> bool:
    known = label.lower().replace(":", "").split()
    return all(any(word.startswith(each) for word in known) for each in words)
