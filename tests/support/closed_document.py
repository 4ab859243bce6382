"""The OpenAPI document, closed: what it does not name is a fault, and so is what it names otherwise."""

import copy
import json
import re
from typing import Any, NamedTuple

import httpx2
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from pipelines.server.app import App
from pipelines.server.config.settings import load_settings
from pipelines.server.document.answers import example_name

Row = dict[str, Any]


def closed(document: Row) -> Row:
    """Clients are told that fields may be added. Ours are added to the document with them."""
    made = copy.deepcopy(document)
    for schema in made["components"]["schemas"].values():
        _close(schema)
    return made


def _close(schema: Any) -> None:
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            _close(part)
    elif isinstance(schema, list):
        for part in schema:
            _close(part)


class _Route(NamedTuple):
    pattern: re.Pattern[str]
    method: str
    path: str
    operation: Row


class Documented:
    """Holds answers against the document, and keeps the first of each that was right."""

    def __init__(self) -> None:
        self.document = closed(App(load_settings({})).api.openapi())
        self._routes = sorted(
            (
                _Route(
                    re.compile(re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path))), method, path, operation
                )
                for path, operations in self.document["paths"].items()
                for method, operation in operations.items()
            ),
            key=lambda route: (route.path.count("{"), -len(route.path)),
        )
        self.seen: dict[str, Any] = {}  # by operation and status

    def operations(self) -> dict[str, Row]:
        return {route.operation["operationId"]: route.operation for route in self._routes}

    def example_name(self, place: str) -> str:
        operation, status = place.split(" ")
        content = self.operations()[operation]["responses"][status]["content"]["application/json"]
        return example_name(place, content["schema"])

    def check(self, response: httpx2.Response) -> None:
        """A hook for a client."""
        response.read()
        method, path = response.request.method.lower(), response.request.url.path
        (route, *_) = [
            each for each in self._routes if each.method == method and each.pattern.fullmatch(path)
        ]
        place = f"{route.operation['operationId']} {response.status_code}"
        answers = route.operation["responses"]
        said = answers.get(str(response.status_code)) or answers.get("default")
        assert said is not None, f"{place}: {method} {path} has no such status"
        content = said.get("content")
        if content is None:
            assert not response.content, place
            self.seen[place] = None
            return
        kind = response.headers["content-type"].partition(";")[0]
        assert kind in content, f"{place}: {kind}"
        body = json.loads(response.content) if kind == "application/json" else None
        if kind == "application/json":
            self.check_body(place, content[kind]["schema"], body)
        self.seen.setdefault(place, body)

    def check_body(self, place: str, schema: Row, body: Any) -> None:
        whole = {**schema, "components": self.document["components"]}
        wrong = best_match(Draft202012Validator(whole).iter_errors(body))
        told = "change the record, or the schema in src/pipelines/server/document"
        assert wrong is None, f"{place}: {wrong.json_path} {wrong.message[:500]}; {told}"
