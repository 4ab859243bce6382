"""All schemas and all operations, and the example of each answer."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.server.document import (
    accounts,
    agents,
    annotations,
    batches,
    cassettes,
    coding,
    coding_imports,
    datasets,
    evals,
    judges,
    matrices,
    models,
    proxy,
    reviews,
    run_oracles,
    runs,
    seed_sessions,
    shared,
    tasks,
    tool_endpoints,
)
from pipelines.server.document.derived import components
from pipelines.server.document.parts import Operation, Page

_ROOMS = (
    *(
        agents,
        datasets,
        tasks,
        seed_sessions,
        runs,
        annotations,
        run_oracles,
        batches,
        tool_endpoints,
        cassettes,
        coding,
    ),
    *(evals, matrices, reviews, models, judges, accounts, proxy, coding_imports),
)
OPERATIONS: tuple[Operation, ...] = tuple(operation for room in _ROOMS for operation in room.OPERATIONS)
_ANSWERED = [
    schema
    for operation in OPERATIONS
    for answered in operation.answers.values()
    for schema in (answered.values() if isinstance(answered, Mapping) else (answered,))
]
SCHEMAS: JsonObject = {
    **components(answered for answered in _ANSWERED if isinstance(answered, type | Page)),
    **components(record for room in (shared, *_ROOMS) for record in getattr(room, "RECORDS", ())),
    **{name: schema for room in (shared, *_ROOMS) for name, schema in getattr(room, "SCHEMAS", {}).items()},
}
#: Of the parts of the API, in the order of the page.
TAGS = {
    "agents": "What is tested: its tools, where it is reached, its settings.",
    "datasets": "Uploaded tasks.",
    "seed sessions": "Tasks made from an agent's tools: one shared world, reviewed, and proved rows.",
    "runs": "Attempts of an agent at a task: what happened, and what it proves.",
    "batches": "Many runs asked for at once.",
    "tool endpoints": "Live services, MCP servers and functions behind tools that are passed through.",
    "coding": "Scenarios of coding tasks: a repository, its setup, and how a change to it is graded.",
    "models": "Models that the platform asks: which, whether they answer, what was said.",
    "judges": "Judge models: how far people bear them out, and where two of them differ.",
    "credentials": "Secrets that code agents and tool endpoints may ask for.",
    "keys": "API keys of the org.",
    "eval library": "Scenarios under pressure, their matrices, reviews and drafts.",
    "telemetry": "Spans of agents in use.",
    "server": "The server itself.",
    "proxy": "Where a run's tool calls go; with the run's own token.",
}


def example_name(place: str, schema: Any) -> str:
    """Under which name the example of an answer is kept: its record's, so that each is there once. What has
    no record is kept under operation and status, such as `export_run 200`."""
    return str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else place


@cache
def examples() -> JsonObject:
    """Answers of a real server, by `example_name`."""
    read = loads_own(files(__package__).joinpath("examples.json").read_bytes())
    assert isinstance(read, dict)
    return read
