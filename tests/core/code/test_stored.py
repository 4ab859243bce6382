"""Rows read back as records: whole, whatever version wrote them, and without checking anything again."""

import pytest

from pipelines.core.agents.agent_definition import AgentDefinition, parse_agent_definition
from pipelines.core.calls.run_moment import seed_name
from pipelines.core.code.code_source import CodeOrigin, CodeRecord, GitSource
from pipelines.core.limits.json_schema import _COMPILED
from pipelines.core.tasks.seed import Seed, parse_seed
from pipelines.core.text.json_text import dumps, loads_own
from pipelines.core.tools.passthrough_binding import EndpointFacts

#: As a row of today holds them, byte for byte.
HTTP_AGENT = (
    '{"name":"Refunds","description":"d","mode":"external_http","endpoint_url":"https://agents.example.com/d",'
    '"auth_header_name":"Authorization","run_timeout_s":60,"tools_schema":[{"name":"refund","description":"",'
    '"input_schema":{"type":"object","properties":{"id":{"type":"string"}}},"output_schema":{"type":"object"},'
    '"default_execution_mode":"passthrough","passthrough_binding":{"endpoint_id":"e-1","tool_name":"refund"},'
    '"ledger_write_policy":"adapter","ledger_adapter":{"op":"update","entity_type":"order","id_from":"$.id",'
    '"field_map":{"status":"$.status"},"flags":["refunded"]}},{"name":"look","description":"Looks.",'
    '"input_schema":{"type":"object"},"default_execution_mode":"sandbox","simulation":[{"do":"x"}]}],'
    '"ledger_schema":{"entities":[{"type":"order","id_field":"id","description":"o","fields":[{"name":"status",'
    '"type":"string","enum":["open",null]},{"name":"total","type":"number","description":"in cents"}]}],'
    '"flags":{"policy":"closed","values":["refunded"]}},'
    '"response_contract":{"response_mode":"rich","strictness":"strict"},'
    '"config":{"sub_agents":[{"actor_id":"a","tools":["look"],"talks_to":["b"]},{"actor_id":"b"}],'
    '"topology":{"entry":"a"}},"max_concurrency":3,"variation_delivery":"user"}'
)
CODE_AGENT = (
    '{"name":"Code","description":"","mode":"code","endpoint_url":null,"auth_header_name":null,'
    '"run_timeout_s":300,"tools_schema":[],"ledger_schema":null,"response_contract":null,"config":{},'
    '"max_concurrency":8,"variation_delivery":"system","entrypoint":null,'
    '"requirements":"httpx==0.28.1","secrets":["API_KEY"],"code":%s}'
)
GIT_CODE = (
    '{"source":"git","url":"https://git.example.com/a/b","ref":"HEAD","directory":"bots","commit":"c0ffee",'
    '"hash":"ab12","files":3,"bytes":900,"entrypoint":"agent.py:run"}'
)
ZIP_CODE = '{"source":"zip","hash":"ab12","files":3,"bytes":900,"entrypoint":"agent.py:run"}'
ROWS = {
    "reached by HTTP": HTTP_AGENT,
    "code from git": CODE_AGENT % GIT_CODE,
    "code from an archive": CODE_AGENT % ZIP_CODE,
    "code not yet sent": CODE_AGENT % "null",
}

SEED = (
    '{"user_instruction":"Refund order 7, please.","behavior_instructions":"Refunds over 100 need approval.",'
    '"failure_rules":[{"trigger":"after_n_calls","tool":"refund_order","n":2,"duration":1,"error":{"code":503,'
    '"message":"busy"}},{"trigger":"random","tool":"*","probability":0.25,"error":{"code":200,"response":null}},'
    '{"trigger":"after_state_change","tool":"get_order","condition":"refunded","duration":2,"error":{"code":404,'
    '"message":"gone"}}],"turn_mode":"model_as_user","max_turns":10,"memory_mode":"replay",'
    '"simulator_mode":"scripted","scripted_user_turns":["Yes."],"tracked_constraints":[{"id":"constraint_1",'
    '"description":"Be brief."},{"id":"c","description":"No refunds.","check":{"responses":{"$not":'
    '{"$contains":"password"}}}}],"expected_calls":{"must":["refund_order"]},"task_input":{"order":7},"tags":["a","b"]}'
)
SEEDS = {
    "a conversation": SEED,
    "the least": '{"user_instruction":"Do it."}',
    "a world": '{"user_instruction":"Do it.","initial_state":{"order":{"7":{"sum":1.5}},"flags":{"a":true}}}',
}


def definition(text: str, **changes) -> AgentDefinition:
    body = loads_own(text)
    assert isinstance(body, dict)
    return AgentDefinition.from_stored(body | changes)


@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
def test_an_agent_is_written_as_its_row_was(text: str):
    assert dumps(definition(text).as_stored()).decode() == text


def test_a_stored_agent_is_the_one_that_was_accepted():
    endpoints = {"e-1": EndpointFacts(id="e-1", name="shop", type="code", tools=frozenset({"refund"}))}
    body = loads_own(HTTP_AGENT)
    assert isinstance(body, dict)
    assert definition(HTTP_AGENT) == parse_agent_definition(body, endpoints=endpoints)


def test_the_code_of_an_agent_is_a_record():
    git = GitSource(url="https://git.example.com/a/b", ref="HEAD", directory="bots")
    assert definition(CODE_AGENT % GIT_CODE).code == CodeRecord(
        origin=CodeOrigin(source="git", git=git, commit="c0ffee"),
        hash="ab12",
        files=3,
        bytes=900,
        entrypoint="agent.py:run",
    )
    assert definition(CODE_AGENT % "null").code is None


def test_a_row_that_lacks_fields_has_their_defaults():
    assert AgentDefinition.from_stored({"name": "old"}) == AgentDefinition(name="old")


def test_fields_that_nobody_knows_here_are_left_out():
    tool = {"name": "look", "input_schema": {"type": "object"}, "colour": "red"}
    adapter = {"op": "set_flag", "flags": ["seen"], "colour": "red"}
    binding = {"tool_name": "look", "endpoint_id": "e", "colour": "red"}
    field = {"name": "status", "type": "string", "colour": "red"}
    entity = {"type": "order", "id_field": "id", "fields": [field], "colour": "red"}
    code = loads_own(ZIP_CODE)
    assert isinstance(code, dict)
    row = {
        "name": "new",
        "mode": "code",
        "colour": "red",
        "tools_schema": [tool | {"ledger_adapter": adapter, "passthrough_binding": binding}],
        "ledger_schema": {"entities": [entity], "colour": "red"},
        "config": {"sub_agents": [{"actor_id": "a", "colour": "red"}], "colour": "red"},
        "code": code | {"colour": "red"},
    }
    read = AgentDefinition.from_stored(row)
    assert "colour" not in dumps(read.as_stored()).decode()
    assert [each.name for each in read.tools] == ["look"]
    assert read.code is not None


def test_limits_of_today_are_not_asked_of_a_row():
    read = definition(HTTP_AGENT, run_timeout_s=10**6, name="n" * 1_000, endpoint_url="ftp://old.example.com")
    assert (read.run_timeout_s, len(read.name), read.endpoint_url) == (10**6, 1_000, "ftp://old.example.com")


def test_reading_a_stored_agent_compiles_no_schema():
    """Lists and dispatches read definitions, and need none of their tools."""
    _COMPILED.clear()
    read = definition(HTTP_AGENT)
    assert len(_COMPILED) == 0
    read.tools[0].compile()
    assert len(_COMPILED) == 2


def seed(text: str, **changes) -> Seed:
    body = loads_own(text)
    assert isinstance(body, dict)
    return Seed.from_stored(body | changes)


@pytest.mark.parametrize("text", SEEDS.values(), ids=SEEDS)
def test_a_seed_is_written_as_its_row_was(text: str):
    assert dumps(seed(text).as_json()).decode() == text


@pytest.mark.parametrize("text", SEEDS.values(), ids=SEEDS)
def test_a_stored_seed_is_the_one_that_was_accepted(text: str):
    body = loads_own(text)
    assert isinstance(body, dict)
    assert seed(text) == parse_seed(body)


def test_axes_that_nobody_knows_here_are_left_out_of_a_seed():
    rule = {"trigger": "random", "tool": "*", "probability": 1, "colour": "red"}
    read = seed(
        SEEDS["the least"],
        colour="red",
        failure_rules=[rule | {"error": {"code": 500, "message": "no", "colour": "red"}}],
        tracked_constraints=[{"id": "c", "description": "d", "colour": "red"}],
    )
    assert "colour" not in dumps(read.as_json()).decode()
    assert (len(read.failure_rules), len(read.tracked_constraints)) == (1, 1)


def test_limits_of_today_are_not_asked_of_a_stored_seed():
    read = seed(SEED, max_turns=10**6, expected_calls={"old": "oracle"})
    assert (read.max_turns, read.expected_calls) == (10**6, {"old": "oracle"})


DRAWS = {  # what ids and chance are drawn under: it must never change for a task that is stored
    "a conversation": "5e87493af1485d64b549558bb6b709126292a201962575b38f7a9120bf16f5bc",
    "the least": "2925f3d8be0a6216a1c2f6e21010b92caaf9dfa0057d0264eca3b891f0184e85",
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_name_of_a_seed_stays_what_it_was(name: str):
    stored = loads_own(SEEDS[name])
    assert isinstance(stored, dict)
    assert seed_name(stored, None) == DRAWS[name]
    assert seed_name(seed(SEEDS[name]).as_json(), None) == DRAWS[name]


def test_the_world_is_part_of_the_name():
    named = seed_name(seed(SEED).as_json(), "wwww")
    assert named == "6cca4af0b4aa600a0e22f96976dc44062136fab554904bced6e20eb4aef302e2"


def test_the_seed_of_an_eval_run_is_written_as_its_row_was():
    text = (
        '{"user_instruction":"Do it.","system_prompt_addition":"Hurry.",'
        '"variation":{"id":"time_pressure","version":1,"intensity":2}}'
    )
    body = loads_own(text)
    assert isinstance(body, dict)
    assert dumps(Seed.from_stored(body).as_json()).decode() == text


def test_an_agent_from_before_there_were_variations_takes_them_in_its_system_prompt():
    body = loads_own(HTTP_AGENT)
    assert isinstance(body, dict)
    del body["variation_delivery"]
    assert AgentDefinition.from_stored(body).variation_delivery == "system"
