"""T: uploaded code that asks its models with what is large or odd, and has them answer so."""

from hostile.code import MOST_GROWTH_BY_CODE_MB
from hostile.kind import kind
from hostile.tenant import Row, Tenant

ASKS = """
import http.client, os, threading, urllib.parse

SIZE = 8_000_000
PARTS = {
    "text": b'{"model":"m","messages":["' + b"x" * SIZE + b'"]}',
    "objects": b'{"model":"m","messages":[' + b"{}," * (SIZE // 3) + b"1]}",
    "small objects": b'{"model":"m","messages":[' + b"{}," * 340_000 + b"1]}",
    "tiny objects": b'{"messages":[' + b"{}," * 20_000 + b'1],"model":"m"}',
    "brackets": b"[" * SIZE,
    "escapes": b'{"model":"' + b"\\\\u00e9" * (SIZE // 6) + b'"}',
    "no text": b"\\xff" * SIZE,
    "nearly secrets": b"shop-secret-012345678 " * (SIZE // 22),
    "secrets": b"shop-secret-0123456789 " * (SIZE // 23),
    "over the limit": b"x" * (9 * 1024 * 1024),
    "small": b'{"model":"m","messages":[]}',
}

def run(task_input, *, proxy_url, run_token):
    body_name, path = task_input["user_instruction"].split("|")
    base = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    key = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}

    def ask():
        while True:
            try:
                connection = http.client.HTTPConnection(base.netloc)
                for _ in range(20):
                    headers = key | ({"Accept": "a" * 60_000} if path == "headers" else {})
                    at = base.path + ("/" + "x/" * 30_000 if path == "long" else "/chat/completions?" + path)
                    connection.request("POST", at, PARTS[body_name], headers)
                    answer = connection.getresponse()
                    while answer.read(1 << 20):
                        pass
            except Exception:
                pass

    for _ in range(6):
        threading.Thread(target=ask, daemon=True).start()
    threading.Event().wait(20)
"""

BODIES = (
    *("text", "objects", "small objects", "tiny objects", "brackets", "escapes", "no text"),
    *("nearly secrets", "secrets", "over the limit"),
)
ANSWERS = ("text", "objects", "usages", "key", "events", "lines", "long_events", "bytes")


def _ask(tenant: Tenant, *said: str) -> None:
    tenant.post("/api/credentials", {"name": "SHOP", "value": "shop-secret-0123456789"}, what="a credential")
    code: Row = {
        "name": "asks",
        "mode": "code",
        "code": {"source": "paste", "text": ASKS},
        "tools_schema": [],
        "model_gateways": ["local"],
        "secrets": ["SHOP"],
        "run_timeout_s": 30,
        "max_concurrency": 8,
    }
    agent_id = int(tenant.made("/api/agents", code, "code that asks a model")["id"])
    dataset = tenant.tasks(*[{"user": each} for each in said])
    with tenant.batch(agent_id, what="runs that ask", dataset_id=dataset["id"], concurrency=8) as batch_id:
        tenant.wait_for(batch_id)
        reply = tenant.get(f"/api/runs?batch_id={batch_id}", what="the runs")
        for run in reply.json()["items"][:2]:
            tenant.get(f"/api/runs/{run['id']}/trace?limit=500", what="what they asked")


@kind("T-questions", seconds=3.0, runs_code=True, growth_mb=MOST_GROWTH_BY_CODE_MB)
def hostile_questions(tenant: Tenant) -> None:
    """Bodies of eight megabytes, paths and headers of sixty thousand characters."""
    names = [
        name for name, _ in tenant.shuffled(dict.fromkeys(BODIES), "small objects", "secrets", "objects")
    ]
    others = ["small|long", "small|headers"]
    _ask(tenant, *[f"{name}|none" for name in names[: tenant.size(4, 8)]], *others)


@kind("T-model-answers", seconds=3.0, runs_code=True, growth_mb=MOST_GROWTH_BY_CODE_MB)
def hostile_model_answers(tenant: Tenant) -> None:
    """Answers of a dozen megabytes, in long lines, in many events, and byte by byte."""
    names = [name for name, _ in tenant.shuffled(dict.fromkeys(ANSWERS), "objects", "events", "long_events")]
    _ask(tenant, *[f"small|{name}" for name in names[: tenant.size(4, 8)]])
