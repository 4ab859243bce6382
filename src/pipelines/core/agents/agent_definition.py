"""The definition of an agent as its author registers it: where it runs, its tools, its settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pipelines.core.agents.agent_config import AgentConfig, read_config
from pipelines.core.agents.delivery import DEFAULT_DELIVERY, delivery_problem
from pipelines.core.code.code_secrets import MOST_SECRETS, name_complaint
from pipelines.core.code.code_source import CodeRecord
from pipelines.core.ledger.ledger_schema import LedgerSchema, read_ledger_schema
from pipelines.core.simulation.rules.axis import RULES, read_agent_rules
from pipelines.core.text.authored import Fields, as_object
from pipelines.core.text.json_text import JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.stored import known_fields, stored_list
from pipelines.core.text.web_address import LONGEST_URL, header_complaint, url_complaint
from pipelines.core.tools.passthrough_binding import EndpointFacts
from pipelines.core.tools.tools_schema import Tool, read_tools_schema, tools_from_stored

MODES = ("external_http", "code")
LONGEST_NAME = 255
LONGEST_DESCRIPTION = 5_000
LONGEST_ENTRYPOINT = 300
LONGEST_REQUIREMENTS = 20_000
LONGEST_HEADER_VALUE = 8_192  # what common servers take for one header
MOST_GATEWAYS = 100
DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S = 300, 1_800
DEFAULT_CONCURRENCY, MAX_CONCURRENCY = 8, 1_000

RESPONSE_CONTRACT: JsonObject = {"response_mode": "rich", "strictness": "strict"}


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentDefinition:
    name: str
    description: str = ""
    mode: str = "external_http"
    endpoint_url: str | None = None  # an external_http agent that is no draft has one
    auth_header_name: str | None = None
    auth_header_value: str | None = field(default=None, repr=False)  # a secret: in no JSON and no log
    run_timeout_s: int = DEFAULT_TIMEOUT_S
    tools: tuple[Tool, ...] = ()
    ledger_schema: LedgerSchema | None = None
    requires_rich_response: bool = False
    config: AgentConfig = field(default_factory=AgentConfig)
    max_concurrency: int = DEFAULT_CONCURRENCY
    variation_delivery: str = DEFAULT_DELIVERY  # how the text of an eval variation reaches this agent
    entrypoint: str | None = None  # code mode: what is called; None is found in the files
    requirements: str | None = None  # code mode: None is the tree's requirements.txt, if it has one
    secrets: tuple[str, ...] = ()  # code mode: the org's credentials that become environment variables
    model_gateways: tuple[str, ...] = ()  # code mode: the models that its runs may ask
    code: CodeRecord | None = None  # code mode: what is stored of it; authors send a source instead
    rules: tuple[JsonObject, ...] = ()  # of its simulated backend, as written: they hold for all its tasks

    @property
    def is_code(self) -> bool:
        return self.mode == "code"

    @property
    def response_contract(self) -> JsonObject | None:
        return dict(RESPONSE_CONTRACT) if self.requires_rich_response else None

    def as_json(self) -> JsonObject:
        """The contract's fields in their normal form, without the auth header's value."""
        own: JsonObject = {
            "entrypoint": self.entrypoint,
            "requirements": self.requirements,
            "secrets": [*self.secrets],
        }
        # Left out where there are none: rows of before it was known stay as they are, and so do versions.
        own |= {"model_gateways": [*self.model_gateways]} if self.model_gateways else {}
        ruled: JsonObject = {RULES: [*self.rules]} if self.rules else {}
        return self._shared_json() | (own if self.is_code else {}) | ruled

    def as_stored(self) -> JsonObject:
        """What a version's row holds, and what is shown of it."""
        record = self.code.as_json() if self.code is not None else None
        return self.as_json() | ({"code": record} if self.is_code else {})

    @classmethod
    def from_stored(cls, body: JsonObject) -> "AgentDefinition":
        """From what `as_stored` wrote; no schema is compiled."""
        ledger_schema, code = body.get("ledger_schema"), body.get("code")
        return cls(
            **{
                **known_fields(cls, body),
                "tools": tools_from_stored(body.get("tools_schema")),
                "ledger_schema": LedgerSchema.from_stored(ledger_schema) if ledger_schema else None,
                "requires_rich_response": body.get("response_contract") is not None,
                "config": AgentConfig.from_stored(body.get("config")),
                "secrets": tuple(stored_list(body.get("secrets"))),
                "model_gateways": tuple(stored_list(body.get("model_gateways"))),
                "code": CodeRecord.from_stored(code) if code is not None else None,
                RULES: tuple(stored_list(body.get(RULES))),
            }
        )

    def _shared_json(self) -> JsonObject:
        return {
            "name": self.name,
            "description": self.description,
            "mode": self.mode,
            "endpoint_url": self.endpoint_url,
            "auth_header_name": self.auth_header_name,
            "run_timeout_s": self.run_timeout_s,
            "tools_schema": [tool.as_json() for tool in self.tools],
            "ledger_schema": self.ledger_schema.as_json() if self.ledger_schema is not None else None,
            "response_contract": self.response_contract,
            "config": self.config.as_json(),
            "max_concurrency": self.max_concurrency,
            "variation_delivery": self.variation_delivery,
        }


CODE_FIELDS = ("entrypoint", "requirements", "secrets", "model_gateways")
_FIELDS = (*AgentDefinition(name="", mode="code").as_json(), "model_gateways", RULES, "auth_header_value")


def parse_agent_definition(
    body: JsonObject, *, endpoints: Mapping[str, EndpointFacts] | None = None, draft: bool = False
) -> AgentDefinition:
    """The agent, or Refused with everything wrong with it.

    `endpoints` are the org's tool endpoints by id; without them bindings are not looked up.
    """
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(_FIELDS)
    fields.require("name")
    mode = fields.choice("mode", MODES, MODES[0])
    ledger_schema = read_ledger_schema(
        fields.get("ledger_schema"), path=fields.at("ledger_schema"), problems=problems
    )
    tools = _read_tools(fields, ledger_schema, endpoints)
    if mode == "external_http":
        _refuse_code_fields(fields)
    header_name = _read_header_name(fields)
    definition = AgentDefinition(
        name=fields.text("name", longest=LONGEST_NAME) or "",
        description=fields.text("description", longest=LONGEST_DESCRIPTION, may_be_blank=True) or "",
        mode=mode or MODES[0],
        endpoint_url=_read_url(fields, is_required=mode == "external_http" and not draft),
        auth_header_name=header_name,
        auth_header_value=_read_header_value(fields),
        run_timeout_s=fields.whole_number("run_timeout_s", DEFAULT_TIMEOUT_S, least=1, most=MAX_TIMEOUT_S),
        tools=tools,
        ledger_schema=ledger_schema,
        requires_rich_response=_read_response_contract(fields),
        config=read_config(fields, _declared_names(fields, tools)),
        max_concurrency=fields.whole_number(
            "max_concurrency", DEFAULT_CONCURRENCY, least=1, most=MAX_CONCURRENCY
        ),
        variation_delivery=_read_delivery(fields),
        entrypoint=fields.text("entrypoint", longest=LONGEST_ENTRYPOINT),
        requirements=fields.text("requirements", longest=LONGEST_REQUIREMENTS, may_be_blank=True),
        secrets=_read_secrets(fields),
        model_gateways=_read_gateways(fields),
        rules=read_agent_rules(
            fields.get(RULES), fields.at(RULES), problems, tools=_declared_names(fields, tools)
        ),
    )
    if problems:
        raise Refused(problems, "the agent")
    return definition


def _refuse_code_fields(fields: Fields) -> None:
    for key in CODE_FIELDS:
        if fields.get(key) not in (None, []):
            fields.refuse(
                key, f"`{key}` is for agents of mode `code`", f'set "mode": "code", or remove `{key}`'
            )


def _read_secrets(fields: Fields) -> tuple[str, ...]:
    """Names only; whether the org has them is for whoever knows the org."""
    names = fields.texts("secrets")
    if len(names) > MOST_SECRETS:
        fields.refuse("secrets", f"`secrets` has {len(names)} names; at most {MOST_SECRETS} are allowed")
    for index, name in enumerate(names):
        complaint = name_complaint(name)
        if complaint is not None:
            path = fields.at("secrets") + pointer([index])
            fields.problems.append(Problem(path=path, message=f"`{name[:80]}` {complaint}"))
    return tuple(dict.fromkeys(names))


def _read_gateways(fields: Fields) -> tuple[str, ...]:
    """Names only; which there are is for whoever knows the server."""
    key = "model_gateways"
    names = fields.texts(key)
    if len(names) > MOST_GATEWAYS:
        fields.refuse(key, f"`{key}` has {len(names)} names; at most {MOST_GATEWAYS} are allowed")
    return tuple(dict.fromkeys(names))


def _read_tools(
    fields: Fields,
    ledger_schema: LedgerSchema | None,
    endpoints: Mapping[str, EndpointFacts] | None,
) -> tuple[Tool, ...]:
    if not fields.has("tools_schema"):
        return ()
    return read_tools_schema(
        fields.get("tools_schema"),
        ledger_schema=ledger_schema,
        endpoints=endpoints,
        path=fields.at("tools_schema"),
        problems=fields.problems,
    )


def _declared_names(fields: Fields, tools: tuple[Tool, ...]) -> set[str]:
    """Also the tools that could not be read: their own problems are enough."""
    entries = fields.get("tools_schema")
    declared = {tool.name for tool in tools}
    for entry in entries if isinstance(entries, list) else ():
        inner = entry.get("function", entry) if isinstance(entry, dict) else None
        name = inner.get("name") if isinstance(inner, dict) else None
        declared |= {name} if isinstance(name, str) else set()
    return declared


def _read_url(fields: Fields, *, is_required: bool) -> str | None:
    key = "endpoint_url"
    if is_required:
        fields.require(key, "where the platform sends each task, such as https://agents.example.com/dispatch")
    url = fields.text(key, longest=LONGEST_URL)
    if url is None:
        return None
    complaint = url_complaint(url)
    if complaint is not None:
        fields.refuse(key, f"`{key}` {complaint}", "such as https://agents.example.com/dispatch")
    return url


def _read_header_name(fields: Fields) -> str | None:
    key = "auth_header_name"
    name = fields.text(key)
    if name is None:
        return None
    complaint = header_complaint(name)
    if complaint is not None:
        fields.refuse(key, complaint, "such as Authorization or X-API-Key")
    return name


def _read_header_value(fields: Fields) -> str | None:
    """Complaints never repeat the value: it is a secret."""
    key = "auth_header_value"
    value = fields.text(key, longest=LONGEST_HEADER_VALUE)
    if value is None:
        return None
    if not fields.has("auth_header_name"):
        fields.refuse("auth_header_name", f"`{key}` needs `auth_header_name`", "such as Authorization")
    if not value.isascii() or not value.isprintable() or value != value.strip():
        message = f"`{key}` must be printable ASCII without line breaks or spaces around it"
        fields.refuse(key, message, "check for a line break at the end of the pasted value")
    return value


def _read_delivery(fields: Fields) -> str:
    key = "variation_delivery"
    value = fields.get(key)
    if value is None:
        return DEFAULT_DELIVERY
    problem = delivery_problem(value, fields.at(key), f"`{key}`")
    fields.problems += [problem] if problem is not None else []
    return str(value)


def _read_response_contract(fields: Fields) -> bool:
    key = "response_contract"
    if not fields.has(key):
        return False
    body = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`")
    if body is None:
        return False
    contract = Fields(body, fields.at(key), fields.problems)
    contract.refuse_unknown(RESPONSE_CONTRACT.keys())
    for part, only in RESPONSE_CONTRACT.items():
        contract.require(part, f'"{only}"')
        contract.choice(part, (str(only),))
    return True
