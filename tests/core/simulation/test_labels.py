"""Entity labels are the author's own: under any others, every tool answers and changes the same."""

import random
import string
from dataclasses import replace

import pytest
from invented_backends import Backend
from test_reading import CASES, Case, call

from pipelines.core.ledger.ledger import is_flag_section
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.text.json_text import Json, JsonObject


def labels_for(backend: Backend, seed: int) -> dict[str, str]:
    chance = random.Random(seed)
    kinds = [kind for kind, of_kind in backend.state.items() if not is_flag_section(kind, of_kind)]
    return {kind: "".join(chance.choices(string.ascii_lowercase, k=8)) for kind in kinds}


#: Names of Python, of the plan language and of no language at all.
ODD = [
    "class",
    "now",
    "sum",
    "größe",
    "x y",
    "from",
    "args",
    "today",
    "v0",
    "other",
    "3d",
    "one",
    "a.b",
    "it's",
]


def odd_labels_for(backend: Backend, start: int) -> dict[str, str]:
    kinds = labels_for(backend, start)
    return {kind: ODD[(start + at) % len(ODD)] for at, kind in enumerate(kinds)}


def relabelled(backend: Backend, labels: dict[str, str]) -> Backend:
    state: JsonObject = {labels.get(kind, kind): of_kind for kind, of_kind in backend.state.items()}
    schema = backend.ledger_schema
    if schema is not None:
        entities = {
            labels.get(kind, kind): replace(one, type=labels.get(kind, kind))
            for kind, one in schema.entities.items()
        }
        schema = LedgerSchema(entities=entities, flags_policy=schema.flags_policy)
    return Backend(state=state, tools=backend.tools, ledger_schema=schema)


def outcome(given: Case, backend: Backend, labels: dict[str, str]) -> Json:
    reply = call(backend, (given.tool, given.arguments))
    changes: list[Json] = []
    for update in reply.updates:
        body = update.as_json()
        changes.append(body | {"entity_type": _under_old_label(str(body.get("entity_type")), labels)})
    return {"status": reply.status, "response": reply.response, "changes": changes}


def _under_old_label(label: str, labels: dict[str, str]) -> str:
    """A type that a tool makes may be called after the service that keeps its records."""
    for kind, new in labels.items():
        if label == new or label.startswith(f"{new}_"):
            return kind + label.removeprefix(new)
    return label


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("given", CASES, ids=lambda given: f"{given.tool}: {given.name}")
def test_a_tool_does_the_same_under_any_labels(given: Case, seed: int) -> None:
    labels = labels_for(given.backend, seed)
    assert outcome(given, relabelled(given.backend, labels), labels) == outcome(given, given.backend, {})


@pytest.mark.parametrize("start", range(0, len(ODD), 5))
@pytest.mark.parametrize("given", CASES, ids=lambda given: f"{given.tool}: {given.name}")
def test_a_tool_does_the_same_under_labels_that_are_words_of_plans(given: Case, start: int) -> None:
    labels = odd_labels_for(given.backend, start)
    assert len({*labels.values()}) == len(labels)
    assert outcome(given, relabelled(given.backend, labels), labels) == outcome(given, given.backend, {})
