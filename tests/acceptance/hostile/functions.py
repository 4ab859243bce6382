"""T: endpoints of uploaded functions whose code, signatures, arguments and results are made to be costly."""

import json
from typing import Any

from hostile.code import MOST_GROWTH_BY_CODE_MB
from hostile.documents import ENDPOINTS, named
from hostile.kind import kind
from hostile.tenant import Row, Tenant

#: One function for each thing that a result can be.
RETURNS = {
    "text": "'x' * 1_040_000",
    "values": "[1] * 340_000",
    "objects": "[{}] * 300_000",
    "keys": "{f'k{at}': at for at in range(60_000)}",
    "deep": "__import__('functools').reduce(lambda value, _: [value], range(900), 1)",
    "escapes": "'\\u00e9' * 170_000",
    "too_large": "'x' * 50_000_000",
    "a_loop": "(lambda each: each.append(each) or each)([])",
    "a_long_number": "10 ** 4_000",
    "raises": "1 / 0 if True else 0",
    "prints": "print('x' * 5_000_000)",
    "spins": "[at for at in range(10 ** 9)]",
}


def _functions() -> str:
    return "\n".join(
        f"def {name}(x=None):\n    '''{name}.'''\n    return {made}\n" for name, made in RETURNS.items()
    )


def _sources() -> dict[str, str]:
    parameters = ", ".join(f"p{at}: str = 'x'" for at in range(2_000))
    hint = "list[" * 60 + "int" + "]" * 60
    literal = "Literal[" + ", ".join(f"'v{at}'" for at in range(20_000)) + "]"
    return {
        "results": _functions(),
        "many functions": "\n".join(f"def f{at}(x: int) -> int:\n    return x\n" for at in range(20_000)),
        "many parameters": f"def f({parameters}):\n    return 1\n",
        "a deep hint": f"def f(x: {hint}):\n    return 1\n",
        "a long literal": f"from typing import Literal\n\n\ndef f(x: {literal}):\n    return 1\n",
        "a long docstring": "def f(x):\n    '''" + "Args: x: word. " * 60_000 + "'''\n    return 1\n",
        "brackets": "x = " + "(" * 150 + "1" + ")" * 150 + "\n" + "def f():\n    return x\n",
        "one expression": "def f():\n    return " + "+".join(["1"] * 150_000) + "\n",
        "spins when imported": "while True:\n    pass\n",
        "no Python": "def def def " * 50_000,
    }


@kind("T-functions", seconds=3.0, runs_code=True, growth_mb=MOST_GROWTH_BY_CODE_MB)
def hostile_functions(tenant: Tenant) -> None:
    """Registered, listed, called by hand with much and answered with more, and deleted."""

    def register(item: tuple[str, str]) -> None:
        name, source = item
        body: Row = {"name": named("functions"), "type": "code", "config": {"source": source}}
        reply = tenant.post(ENDPOINTS, body, what=f"functions: {name}")
        if reply.status not in (200, 201):
            return
        own = f"{ENDPOINTS}/{reply.json()['id']}"
        tenant.get(f"{own}/tools?limit=500", what=f"tools of {name}")
        for tool in RETURNS if name == "results" else ():
            if tenant.has_time or tool in ("objects", "deep"):
                _call(tenant, own, tool, {"x": [1] * 100_000})
        tenant.ask("DELETE", own, what=f"delete {name}")

    tenant.together(register, tenant.shuffled(_sources(), "results", "many functions"), at_once=3)


def _call(tenant: Tenant, own: str, tool: str, arguments: Any) -> None:
    raw = json.dumps({"tool_name": tool, "arguments": arguments}).encode()
    tenant.post(f"{own}/call", raw, what=f"call: {tool}")
