"""Tools and adapters as an author writes them."""

import pytest

from pipelines.core.ledger.ledger_schema import parse_ledger_schema
from pipelines.core.text.problems import Refused
from pipelines.core.tools.tools_schema import (
    EndpointFacts,
    parse_tools_schema,
)

LEDGER = parse_ledger_schema(
    {
        "entities": [
            {
                "type": "order",
                "id_field": "order_id",
                "fields": [{"name": "status", "type": "string"}, {"name": "total", "type": "number"}],
            },
            {"type": "user", "id_field": "user_id"},
        ],
        "flags": {"policy": "closed", "values": ["vip"]},
    }
)

ENDPOINTS = {
    "0c4e": EndpointFacts(id="0c4e", name="orders-api", type="http_openapi", tools=frozenset({"get_order"})),
    "77b1": EndpointFacts(
        id="77b1", name="research-tools", type="code", tools=frozenset({"search_wikipedia"})
    ),
    "9999": EndpointFacts(id="9999", name="old", type="soap", tools=frozenset({"get_order"})),
}


def parse(*tools, ledger_schema=LEDGER):
    return parse_tools_schema(list(tools), ledger_schema=ledger_schema, endpoints=ENDPOINTS)


def problems(*tools, ledger_schema=LEDGER):
    with pytest.raises(Refused) as refused:
        parse(*tools, ledger_schema=ledger_schema)
    return refused.value.problems


# Checking calls


(TYPED,) = parse(
    {
        "name": "refund",
        "input_schema": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string", "pattern": "^[0-9]+$"},
                "lines": {"type": "array", "items": {"type": "object", "required": ["sku"]}},
                "reason": {"enum": ["damaged", "late"]},
                "on": {"type": "string", "format": "date"},
            },
            "required": ["order_id"],
            "additionalProperties": False,
        },
        "output_schema": {"type": "object", "required": ["ok"]},
    }
)
