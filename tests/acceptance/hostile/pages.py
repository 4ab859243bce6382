"""W: pages over what is large and odd, looked at by several people at once."""

import hashlib
import hmac
import http.client
from functools import partial
from urllib.parse import urlencode

from hostile.floods import ECHO
from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import SOURCE, HandRun, NotTaken, Tenant

MARKUP = "<script>alert(1)</script>&<b>\u202e"


@kind("W-trace", seconds=2.0)
def a_trace_of_large_replies(tenant: Tenant) -> None:
    """Replies of a megabyte: one text, many values, deep ones, markup; every way to look at the run."""
    run = _large_run(tenant)
    finished = run.finish(MARKUP * 60_000).json()
    own = f"/runs/{run.id}"
    paths = [
        *(
            own,
            f"{own}?at=50",
            f"{own}/window?at=0",
            f"{own}/steps/2",
            f"{own}/steps/4",
            f"{own}/steps/3/json",
        ),
        *(f"{own}/found?q=script", f"{own}/entity?type=order&id=4521", f"{own}/download"),
        *("/runs", f"/runs?task_id={finished.get('task_id', 1)}", f"/compare/runs?from={run.id}&to={run.id}"),
        *("/search?q=script", "/"),
    ]
    look(tenant, paths * tenant.size(3, 10))


@kind("W-report", growth_mb=MOST_GROWTH_BY_UPLOAD_MB, seconds=1.0)
def reports_of_large_batches(tenant: Tenant) -> None:
    """The largest file that may be asked for, of a batch whose tasks and worlds are large."""
    agent_id = tenant.agent([ECHO])
    world = {"order": {f"o{at}": {"note": "x" * 200} for at in range(5_000)}}
    rows = [{"user": MARKUP * 2_000, "state": world, "expected_outcome": "refusal"}] * 20
    dataset_id = tenant.tasks(*rows)["id"]
    with tenant.batch(agent_id, dataset_id=dataset_id, repeats=20) as batch_id:
        tenant.wait_for(batch_id)
        paths = [f"/report/{batch_id}", f"/report/{batch_id}/file?max_mb=50", f"/batches/{batch_id}", "/runs"]
        look(tenant, paths * 2, at_once=4)


def _texts(size: int) -> dict[str, str]:
    return {
        "values": "[" + "1," * (size // 2) + "1]",
        "objects": "[" + "{}," * (size // 3) + "{}]",
        "keys": "{" + ",".join(f'"k{at}":1' for at in range(size // 10)) + "}",
        "brackets": "[" * size,
        "lines": "- a\n" * (size // 4),
        "indented": "".join(f"{' ' * (at % 90)}a{at}:\n" for at in range(size // 55)),
        "anchors": "a: &a [x]\n" + "b: [*a, *a, *a]\n" * (size // 16),
        "markup": MARKUP * (size // 40),
        "returns": "\r\n" * (size // 2),
        "dashes": "\r\n--x" * (size // 5),
    }


@kind("W-forms", seconds=2.5, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def forms_with_long_fields(tenant: Tenant) -> None:
    """Every form with room for a text, filled with megabytes that are hard to read, by several people."""
    agent_id = tenant.agent([ECHO])
    task_id = tenant.tasks({"user": "Do it."}, agent_id=agent_id)["task_ids"][0]
    own, cookie = f"/agents/{agent_id}", _cookie(tenant)
    fields: dict[str, tuple[str, dict[str, str]]] = {
        "arguments": (f"{own}/try", {"tool": "echo", "task": str(task_id), "arguments": ""}),
        "a state": (f"{own}/try", {"tool": "echo", "state": "", "arguments": "{}"}),
        "a behaviour": (f"{own}/try", {"tool": "echo", "arguments": "{}", "behavior": ""}),
        "a proposal": (f"{own}/proposals", {"tool": ""}),
        "an edited agent": (f"{own}/edit", {"version": "1", "name": "x", "tools_schema": ""}),
        "a new agent": ("/agents/new", {"name": "x", "tools_schema": ""}),
        "a coding scenario": ("/coding", {"text": ""}),
        "a scenario": ("/evals/scenarios", {"text": ""}),
        "a checked scenario": ("/evals/scenarios/check", {"text": ""}),
        "an endpoint": ("/settings/endpoints", {"endpoint": ""}),
        "a dataset": ("/datasets/check", {"text": "", "name": "x"}),
        "a world": ("/worlds", {"agent_id": str(agent_id), "name": "x", "instructions": ""}),
        "a model": ("/settings/models/test", {"model": "", "purpose": "judge"}),
        "a key": ("/settings/keys", {"name": "", "role": "viewer"}),
        "reviews": ("/review/bulk", {"ids": "", "action": "claim"}),
        "a matrix": ("/evals/new/forecast", {"agent_id": str(agent_id), "repeats": ""}),
    }
    texts = _texts(tenant.size(4, 7) * 1_000_000)

    def fill(item: tuple[str, str]) -> None:
        (path, given), text = fields[item[0]], texts[item[1]]
        sent = {name: value or text for name, value in given.items()}
        _sent(tenant, cookie, path, sent, f"{item[0]} of {item[1]}")

    pairs = [(form, name) for form in fields for name in texts]
    tenant.chance.shuffle(pairs)
    pairs.sort(
        key=lambda pair: pair not in (("a plan", "objects"), ("a plan", "keys"), ("a state", "objects"))
    )
    tenant.together(fill, pairs, at_once=6)


def _sent(tenant: Tenant, cookie: str, path: str, fields: dict[str, str], what: str) -> None:
    """In parts, as a browser sends them, with the word that shows that the form is one of ours."""
    token = cookie.partition("=")[2]
    fields |= {"csrf": hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()}
    parts = (
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    raw = ("".join(parts) + "--edge--\r\n").encode()
    tenant.post(path, raw, what=what, Cookie=cookie, Content_Type="multipart/form-data; boundary=edge")


def _large_run(tenant: Tenant) -> HandRun:
    run = tenant.run_of([ECHO], state={"order": {"4521": {"note": MARKUP * 1_000}}})
    nested: list[object] = []
    for _ in range(60):
        nested = [nested, "x" * 1_000]
    bodies: dict[str, object] = {
        "texts": ["x" * 90_000] * 11,
        "markup": [MARKUP * 1_500] * 11,
        "values": list(range(120_000)),
        "keys": [{f"{MARKUP}{at}": at for at in range(12_000)}],
        "deep": nested,
    }
    for _ in range(tenant.size(4, 20)):
        for name, body in bodies.items():
            run.call("echo", {"x": body}, what=f"a reply of {name}")
    for at in range(tenant.size(100, 1_000)):
        run.call("echo", {"x": [MARKUP, at]}, what="a short reply")
    return run


def look(tenant: Tenant, paths: list[str], at_once: int = 8) -> None:
    tenant.together(partial(_opened, tenant, _cookie(tenant)), paths, at_once=at_once)


def _opened(tenant: Tenant, cookie: str, path: str) -> None:
    tenant.get(path, what=f"page {path.partition('?')[0]}", Cookie=cookie)


def _cookie(tenant: Tenant) -> str:
    """Signed in as anybody may."""
    connection = http.client.HTTPConnection(
        tenant.host, int(tenant.port), timeout=tenant.patience_s, source_address=(SOURCE, 0)
    )
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/sign-in", urlencode({"key": tenant.key}), form)
    answered = connection.getresponse()
    connection.close()
    given = answered.getheader("set-cookie")
    if given is None:
        raise NotTaken(f"sign in: {answered.status}")
    return given.partition(";")[0]
