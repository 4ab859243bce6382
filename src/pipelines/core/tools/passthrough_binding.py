"""Passthrough bindings: which live tool of which endpoint answers for a declared tool."""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.core.text.authored import Fields, as_object, did_you_mean, quote_names
from pipelines.core.text.json_text import JsonObject

ENDPOINT_TYPES = ("mcp_server", "http_openapi", "code")


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointFacts:
    """What an agent's schema is checked against of one endpoint of its org."""

    id: str
    name: str
    type: str
    tools: frozenset[str]  # as last discovered


@dataclass(frozen=True, kw_only=True, slots=True)
class PassthroughBinding:
    """As the author wrote it: exactly one of `endpoint_id` and `endpoint_name` is set."""

    tool_name: str
    endpoint_id: str | None = None
    endpoint_name: str | None = None

    def as_json(self) -> JsonObject:
        if self.endpoint_id is not None:
            return {"endpoint_id": self.endpoint_id, "tool_name": self.tool_name}
        return {"endpoint_name": self.endpoint_name, "tool_name": self.tool_name}

    def endpoint(self, endpoints: Mapping[str, EndpointFacts]) -> EndpointFacts | None:
        """The endpoint meant, of the org's endpoints by id."""
        if self.endpoint_id is not None:
            return endpoints.get(self.endpoint_id)
        return next((each for each in endpoints.values() if each.name == self.endpoint_name), None)


def read_binding(tool: Fields, endpoints: Mapping[str, EndpointFacts] | None) -> PassthroughBinding | None:
    """The binding of a tool; without `endpoints` it is not looked up."""
    key = "passthrough_binding"
    if not tool.has(key):
        return None
    body = as_object(tool.get(key), tool.at(key), tool.problems, f"{tool.subject}`{key}`")
    if body is None:
        return None
    fields = Fields(body, tool.at(key), tool.problems, subject=tool.subject)
    before = len(fields.problems)
    fields.refuse_unknown(("endpoint_id", "endpoint_name", "tool_name"))
    fields.require("tool_name", "the tool as discovered on the endpoint")
    tool_name = fields.text("tool_name")
    endpoint_id, endpoint_name = fields.text("endpoint_id"), fields.text("endpoint_name")
    if fields.has("endpoint_id") == fields.has("endpoint_name"):
        both = "names both `endpoint_id` and `endpoint_name`"
        neither = "names neither `endpoint_id` nor `endpoint_name`"
        wrong = both if fields.has("endpoint_id") else neither
        tool.refuse(key, f"`{key}` {wrong}", "name exactly one of the two")
    if len(fields.problems) > before or tool_name is None:
        return None
    binding = PassthroughBinding(tool_name=tool_name, endpoint_id=endpoint_id, endpoint_name=endpoint_name)
    if endpoints is not None:
        _look_up(fields, binding, endpoints)
    return binding


def _look_up(fields: Fields, binding: PassthroughBinding, endpoints: Mapping[str, EndpointFacts]) -> None:
    # An endpoint of another org is not among these, and so is as missing as one that never was.
    endpoint = binding.endpoint(endpoints)
    if endpoint is None and binding.endpoint_id is not None:
        fields.refuse("endpoint_id", f"this org has no tool endpoint with id `{binding.endpoint_id}`")
    elif endpoint is None and binding.endpoint_name is not None:
        hint = did_you_mean(binding.endpoint_name, [each.name for each in endpoints.values()])
        fields.refuse("endpoint_name", f"this org has no tool endpoint named `{binding.endpoint_name}`", hint)
    elif endpoint is not None and endpoint.type not in ENDPOINT_TYPES:
        key = "endpoint_id" if binding.endpoint_id is not None else "endpoint_name"
        message = f"endpoint `{endpoint.name}` is of type `{endpoint.type}`, which cannot serve tools"
        fields.refuse(key, message, f"use an endpoint of type {quote_names(ENDPOINT_TYPES)}")
    elif endpoint is not None and binding.tool_name not in endpoint.tools:
        hint = did_you_mean(binding.tool_name, endpoint.tools)
        hint = hint or "discover the endpoint's tools again if it has been added since"
        message = f"endpoint `{endpoint.name}` has no tool `{binding.tool_name}`"
        fields.refuse("tool_name", message, hint)
