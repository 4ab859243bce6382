"""An agent's `config`: sub-agents and their topology, the simulator of its tools, the models for its runs,
and how strictly its statements are judged."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pipelines.core.models.honesty_level import STANDARD, read_honesty
from pipelines.core.models.model_names import models_json, read_models
from pipelines.core.models.model_question import Purpose
from pipelines.core.models.simulator_choice import AUTO, CHOICES
from pipelines.core.text.authored import Fields, as_list, as_object, did_you_mean
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem
from pipelines.wire.actor import ACTOR_ID_RULE, is_actor_id


@dataclass(frozen=True, kw_only=True, slots=True)
class SubAgent:
    actor_id: str
    tools: tuple[str, ...] | None = None  # None: not said
    talks_to: tuple[str, ...] | None = None

    def as_json(self) -> JsonObject:
        body: JsonObject = {"actor_id": self.actor_id}
        body |= {"tools": list(self.tools)} if self.tools is not None else {}
        return body | ({"talks_to": list(self.talks_to)} if self.talks_to is not None else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentConfig:
    sub_agents: tuple[SubAgent, ...] = ()
    entry: str | None = None  # the actor id that gets the user's words
    #: Who answers simulated tools: their plans, a model, or a model where plans fall short.
    simulator: str = AUTO
    #: Asked for its runs instead of the server's.
    models: Mapping[Purpose, str] = field(default_factory=dict)
    honesty: str = STANDARD

    def as_json(self) -> JsonObject:
        body: JsonObject = {}
        body |= {"sub_agents": [each.as_json() for each in self.sub_agents]} if self.sub_agents else {}
        body |= {"topology": {"entry": self.entry}} if self.entry is not None else {}
        body |= {"simulator": self.simulator} if self.simulator != AUTO else {}
        body |= {"honesty": self.honesty} if self.honesty != STANDARD else {}
        return body | ({"models": models_json(self.models)} if self.models else {})

    @classmethod
    def from_stored(cls, body: Json) -> "AgentConfig":
        """As `as_json` wrote it: it was accepted once, so nobody is told of problems again."""
        return read_config(Fields({"config": body}, "", []), ())


def read_config(agent: Fields, tools: Collection[str]) -> AgentConfig:
    """The `config` of an agent that declares these tools."""
    if not agent.has("config"):
        return AgentConfig()
    body = as_object(agent.get("config"), agent.at("config"), agent.problems, "`config`")
    if body is None:
        return AgentConfig()
    config = Fields(body, agent.at("config"), agent.problems)
    config.refuse_unknown(("sub_agents", "topology", "simulator", "models", "honesty"))
    entries = _sub_agent_fields(config)
    actors = {actor for entry in entries if isinstance(actor := entry.get("actor_id"), str)}
    seen: set[str] = set()
    sub_agents = [_read_sub_agent(entry, tools, actors, seen) for entry in entries]
    return AgentConfig(
        sub_agents=tuple(each for each in sub_agents if each is not None),
        entry=_read_entry(config, actors),
        simulator=config.choice("simulator", CHOICES, AUTO) or AUTO,
        models=read_models(config),
        honesty=read_honesty(config) or STANDARD,
    )


def _sub_agent_fields(config: Fields) -> list[Fields]:
    key = "sub_agents"
    if not config.has(key):
        return []
    found = []
    for index, entry in enumerate(
        as_list(config.get(key), config.at(key), config.problems, f"`{key}`") or ()
    ):
        path = config.at(key) + pointer([index])
        body = as_object(entry, path, config.problems, "a sub-agent")
        if body is not None:
            name = body.get("actor_id")
            subject = f"sub-agent `{name}`: " if isinstance(name, str) else f"sub-agent {index}: "
            found.append(Fields(body, path, config.problems, subject=subject))
    return found


def _read_sub_agent(
    fields: Fields, tools: Collection[str], actors: Collection[str], seen: set[str]
) -> SubAgent | None:
    fields.refuse_unknown(("actor_id", "tools", "talks_to"))
    fields.require("actor_id")
    actor_id = fields.text("actor_id", may_be_blank=True)
    if actor_id is not None and not is_actor_id(actor_id):
        fields.refuse("actor_id", f"`{actor_id[:80]}` is not a valid actor id", ACTOR_ID_RULE)
    if actor_id in seen:
        fields.refuse("actor_id", f"the actor id `{actor_id}` is declared twice")
    used_tools = _read_names(fields, "tools", tools, "the agent declares no tool")
    talks_to = _read_names(fields, "talks_to", actors, "there is no sub-agent")
    if actor_id is None:
        return None
    seen.add(actor_id)
    return SubAgent(actor_id=actor_id, tools=used_tools, talks_to=talks_to)


def _read_names(
    fields: Fields, key: str, declared: Collection[str], complaint: str
) -> tuple[str, ...] | None:
    if not fields.has(key):
        return None
    names = fields.texts(key)
    for index, name in enumerate(names):
        if name not in declared:
            path = fields.at(key) + pointer([index])
            message = f"{fields.subject}{complaint} `{name}`"
            fields.problems.append(Problem(path=path, message=message, hint=did_you_mean(name, declared)))
    return names


def _read_entry(config: Fields, actors: Collection[str]) -> str | None:
    if not config.has("topology"):
        return None
    body = as_object(config.get("topology"), config.at("topology"), config.problems, "`topology`")
    if body is None:
        return None
    topology = Fields(body, config.at("topology"), config.problems)
    topology.refuse_unknown(("entry",))
    topology.require("entry", "the actor id of the sub-agent that gets the user's words")
    entry = topology.text("entry")
    if entry is not None and entry not in actors:
        topology.refuse("entry", f"there is no sub-agent `{entry}`", did_you_mean(entry, actors))
    return entry
