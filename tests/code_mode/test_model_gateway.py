"""Uploaded code that asks a model: what it can reach, what it cannot, and what its run says of it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from code_desk import code_agent, run_code, run_of
from model_upstream import PlayedModel, model_beside

from desk import refused
from nodes import REFUND_TASK, Api, House, eventually, house_in

KEY = "sk-operators-own-0123456789abcdef"
ORG_KEY = "sk-of-the-org-fedcba9876543210"

#: How an agent without any package asks a model.
ASK = """
def ask(path, body=None, base=os.environ.get("OPENAI_BASE_URL"), **headers):
    key = {"Authorization": "Bearer " + os.environ.get("PIPELINES_MODEL_KEY", "")}
    data = None if body is None else json.dumps(body).encode()
    named = key | {"Content-Type": "application/json"} | {n.replace("_", "-"): v for n, v in headers.items()}
    request = urllib.request.Request(base + path, data=data, headers=named)
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)

def chat(model, text="hi", **more):
    return ask("/chat/completions", {"model": model, "messages": [{"role": "user", "content": text}], **more})
"""


@pytest.fixture(scope="module")
def model() -> Iterator[PlayedModel]:
    with model_beside() as played:
        yield played


@pytest.fixture(scope="module")
def house_with_models(tmp_path_factory: pytest.TempPathFactory, model: PlayedModel) -> Iterator[House]:
    listed = {
        "local": {"kind": "openai", "base_url": model.url, "key_environment": "LOCAL_MODEL_KEY"},
        "of-org": {"kind": "openai", "base_url": model.url, "key_credential": "MODEL_KEY"},
        "bare": {"kind": "openai", "base_url": model.url},
        "claude": {
            "kind": "anthropic",
            "base_url": model.url.removesuffix("/v1"),
            "key_environment": "LOCAL_MODEL_KEY",
        },
    }
    settings = {
        "PIPELINES_PROXY_RATE_LIMIT": "0",
        "PIPELINES_MODEL_GATEWAY": json.dumps(listed),
        "PIPELINES_MODEL_CALLS": "6",
        "PIPELINES_LOG_LEVEL": "debug",
        "LOCAL_MODEL_KEY": KEY,
    }
    with house_in(tmp_path_factory.mktemp("models") / "house", settings) as house:
        yield house


@pytest.fixture(scope="module")
def api(house_with_models: House) -> Api:
    opened = house_with_models.open()
    found = opened.get("/api/code-mode")
    if not found["available"]:
        pytest.skip(found["reason"])
    return opened


def asking(body: str) -> str:
    return f"{ASK}\n{body}"


def test_smoke(api, model):
    run = run_code(api, asking("""
status, reply = chat("gpt-test", "hello")
print(sorted(os.environ.items()))
return json.dumps([status, reply])
"""), model_gateways=["local"])
    print(json.dumps(run, indent=1)[:3000])
    print(api.trace(run["id"]))
    print(api.get(f"/api/runs/{run['id']}/output"))
    print(model.asked)
    assert 0
