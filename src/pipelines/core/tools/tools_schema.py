"""The tools schema: the tools that an agent declares, their schemas, and who answers their calls."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pipelines.core.ledger.ledger_adapter import DEFAULT_WRITE_POLICY, LedgerAdapter, read_write_policy
from pipelines.core.ledger.ledger_schema import LedgerSchema
from pipelines.core.limits.check_limits import size
from pipelines.core.limits.json_schema import CompiledSchema, schema_problems
from pipelines.core.limits.pattern_cost import agent_pattern_problems
from pipelines.core.text.authored import Fields, as_list, as_object, kind
from pipelines.core.text.authored import nearest_names as nearest_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields, stored_list
from pipelines.core.tools.passthrough_binding import EndpointFacts as EndpointFacts
from pipelines.core.tools.passthrough_binding import PassthroughBinding, read_binding
from pipelines.core.tools.tool_annotations import LONGEST_TITLE, ToolAnnotations, read_annotations
from pipelines.core.tools.tool_formats import tool_fields

MAX_TOOLS = 1_000
LONGEST_DESCRIPTION = 20_000  # characters: models are sent it with every request
MAX_VALUES = 200_000  # in all of a tools_schema; reading so many takes some two seconds of a thread
EXECUTION_MODES = ("sandbox", "passthrough")
NAME_RULE = r"^[A-Za-z_][A-Za-z0-9_\-]{0,127}$"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_\-]{0,127}")  # with fullmatch: `$` would let a newline pass

_FIELDS = (
    "name",
    "description",
    "input_schema",
    "output_schema",
    "annotations",
    "default_execution_mode",
    "passthrough_binding",
    "ledger_write_policy",
    "ledger_adapter",
    "simulation",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    name: str
    description: str = ""
    input_schema: JsonObject
    output_schema: JsonObject | None = None
    annotations: ToolAnnotations | None = None
    default_execution_mode: str = "sandbox"
    passthrough_binding: PassthroughBinding | None = None
    ledger_write_policy: str = DEFAULT_WRITE_POLICY
    ledger_adapter: LedgerAdapter | None = None
    simulation: Json = None  # the authored plan as it stands; core.simulation checks it
    _arguments: CompiledSchema = field(init=False, repr=False, compare=False)
    _response: CompiledSchema | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        output = CompiledSchema(self.output_schema) if self.output_schema is not None else None
        object.__setattr__(self, "_arguments", CompiledSchema(self.input_schema))
        object.__setattr__(self, "_response", output)

    @property
    def is_passthrough(self) -> bool:
        return self.default_execution_mode == "passthrough"

    def compile(self) -> None:
        """Ahead of the first call, which would do it otherwise."""
        self._arguments.compile()
        if self._response is not None:
            self._response.compile()

    def accepts(self, arguments: Json) -> bool:
        return isinstance(arguments, dict) and self._arguments.accepts(arguments)

    def argument_problems(self, arguments: Json) -> list[Problem]:
        """What is wrong with the arguments of a call; paths are JSON Pointers into them."""
        if not isinstance(arguments, dict):
            return [Problem(path="", message=f"the arguments must be a JSON object, not {kind(arguments)}")]
        return self._arguments.problems(arguments)

    def response_problems(self, response: Json) -> list[Problem]:
        """How a reply breaks `output_schema`; no problems when none is declared."""
        return self._response.problems(response) if self._response is not None else []

    def as_json(self) -> JsonObject:
        """The normal form: the seed's field names, what was not given left out."""
        binding, adapter = self.passthrough_binding, self.ledger_adapter
        body: JsonObject = {"name": self.name, "description": self.description}
        body |= {"input_schema": self.input_schema}
        body |= {"output_schema": self.output_schema} if self.output_schema is not None else {}
        body |= {"annotations": self.annotations.as_json()} if self.annotations is not None else {}
        body |= {"default_execution_mode": self.default_execution_mode}
        body |= {"passthrough_binding": binding.as_json()} if binding is not None else {}
        if self.ledger_write_policy != DEFAULT_WRITE_POLICY:
            body |= {"ledger_write_policy": self.ledger_write_policy}
        body |= {"ledger_adapter": adapter.as_json()} if adapter is not None else {}
        return body | ({"simulation": self.simulation} if self.simulation is not None else {})


def parse_tools_schema(
    body: Json,
    *,
    ledger_schema: LedgerSchema | None = None,
    endpoints: Mapping[str, EndpointFacts] | None = None,
    path: str = "/tools_schema",
) -> tuple[Tool, ...]:
    """The tools, or Refused with everything wrong with them.

    `endpoints` are the org's, by id; without them bindings are not looked up, as where no server is asked.
    """
    problems: list[Problem] = []
    tools = read_tools_schema(
        body, ledger_schema=ledger_schema, endpoints=endpoints, path=path, problems=problems
    )
    if problems:
        raise Refused(problems, "tools_schema")
    return tools


def tools_from_stored(body: Json) -> tuple[Tool, ...]:
    """Tools from their stored normal form: they were accepted once, and the world may have moved on since."""
    return tuple(_from_stored(entry) for entry in stored_list(body))


def _from_stored(entry: Any) -> Tool:
    known = known_fields(Tool, entry)
    known["annotations"] = ToolAnnotations.from_stored(known.get("annotations"))
    binding, adapter = known.get("passthrough_binding"), known.get("ledger_adapter")
    if binding is not None:
        known["passthrough_binding"] = PassthroughBinding(**known_fields(PassthroughBinding, binding))
    if adapter is not None:
        known["ledger_adapter"] = LedgerAdapter.from_stored(adapter)
    return Tool(**known)


def read_tools_schema(
    body: Json,
    *,
    ledger_schema: LedgerSchema | None,
    endpoints: Mapping[str, EndpointFacts] | None,
    path: str,
    problems: list[Problem],
) -> tuple[Tool, ...]:
    """The tools that can be read; what is wrong with the others is added to `problems`."""
    entries = as_list(body, path, problems, "tools_schema") or []
    if len(entries) > MAX_TOOLS:
        message = f"tools_schema has {len(entries):,} tools; at most {MAX_TOOLS:,} are allowed"
        problems.append(Problem(path=path, message=message))
        return ()
    if size(entries, MAX_VALUES) > MAX_VALUES:
        message = f"tools_schema has more than {MAX_VALUES:,} values (a long text counts as several)"
        problems.append(Problem(path=path, message=message, hint="declare fewer tools, or smaller schemas"))
        return ()
    if found := agent_pattern_problems(entries, path):
        problems.extend(found)
        return ()
    tools: dict[str, Tool] = {}
    first_seen: dict[str, int] = {}
    for index, entry in enumerate(entries):
        place = path + pointer([index])
        whole = as_object(entry, place, problems, f"tool {index}")
        if whole is None:
            continue
        fields = tool_fields(whole, place, problems, _FIELDS)
        name = _read_name(fields, index, first_seen)
        tool = _read_tool(fields, name, ledger_schema, endpoints)
        if tool is not None:
            tools[tool.name] = tool
    return tuple(tools.values())


def _read_name(fields: Fields, index: int, first_seen: dict[str, int]) -> str | None:
    fields.require("name")
    name = fields.text("name", may_be_blank=True)
    if name is None:
        return None
    if _NAME.fullmatch(name) is None:
        hint = "a letter or `_`, then up to 127 letters, digits, `_` or `-`"
        fields.refuse("name", f"the name does not match {NAME_RULE}", hint)
        return None
    if name in first_seen:
        fields.refuse("name", f"the name is already taken by tool {first_seen[name]}")
        return None
    first_seen[name] = index
    return name


def _read_tool(
    fields: Fields,
    name: str | None,
    ledger_schema: LedgerSchema | None,
    endpoints: Mapping[str, EndpointFacts] | None,
) -> Tool | None:
    before = len(fields.problems)
    description = fields.text("description", longest=LONGEST_DESCRIPTION, may_be_blank=True)
    input_schema = _read_input_schema(fields)
    output_schema = _read_schema(fields, "output_schema")
    title = fields.text("title", longest=LONGEST_TITLE, may_be_blank=True)
    annotations = read_annotations(fields, title)
    mode = fields.choice("default_execution_mode", EXECUTION_MODES, "sandbox")
    binding = read_binding(fields, endpoints)
    if mode == "passthrough" and not fields.has("passthrough_binding"):
        hint = "{tool_name, endpoint_id} or {tool_name, endpoint_name}"
        fields.refuse("passthrough_binding", "a passthrough tool needs a `passthrough_binding`", hint)
    policy, adapter = read_write_policy(
        fields, is_passthrough=mode == "passthrough", ledger_schema=ledger_schema
    )
    if len(fields.problems) > before or name is None or input_schema is None or mode is None:
        return None
    return Tool(
        name=name,
        description=description or "",
        input_schema=input_schema,
        output_schema=output_schema,
        annotations=annotations,
        default_execution_mode=mode,
        passthrough_binding=binding,
        ledger_write_policy=policy,
        ledger_adapter=adapter,
        simulation=fields.get("simulation"),
    )


def _read_input_schema(fields: Fields) -> JsonObject | None:
    fields.require("input_schema", 'for a tool without arguments: {"type": "object", "properties": {}}')
    schema = _read_schema(fields, "input_schema")
    if schema is None:
        return None
    types = schema.get("type", "object")
    if types != "object" and not (isinstance(types, list) and "object" in types):
        message = "`input_schema` must be a schema for an object: a call's arguments are one"
        fields.refuse("input_schema", message, 'its `type` must be "object"')
    return schema


def _read_schema(fields: Fields, key: str) -> JsonObject | None:
    schema = fields.get(key)
    if schema is None:
        return None
    found = schema_problems(schema, fields.at(key), f"{fields.subject}`{key}`")
    fields.problems.extend(found)
    return schema if isinstance(schema, dict) and not found else None
