"""H3 and H7: uploaded code that is costly to read, and code that is costly to run."""

import io
import zipfile
from typing import Any

from hostile.kind import MOST_GROWTH_BY_UPLOAD_MB, kind
from hostile.tenant import Row, Tenant, tool

MOST_GROWTH_BY_CODE_MB = 2_500  # of the server and twenty sandboxes, each with the memory a run may have
RUN = "def run(task_input, *, proxy_url, run_token):\n    return 'x'\n"


def sources(size: int) -> dict[str, str]:
    """Programs of about this many characters."""
    return {
        "one f-string": RUN + "x = f'" + "{a}" * (size // 3) + "'\n",
        "f-strings in f-strings": RUN
        + "x = "
        + "f'{" * 100
        + "1"
        + "}'" * 100
        + "\n"
        + "y = f'{1:{2}}'\n" * (size // 16),
        "text in pieces": RUN + "x = (" + "'a' " * (size // 4) + ")\n",
        "bytes in pieces": RUN + "x = (" + "b'a' " * (size // 5) + ")\n",
        "parentheses": RUN + "x = " + "(" * (size // 2) + ")" * (size // 2) + "\n",
        "brackets": RUN + "x = " + "[" * 150 + "]" * 150 + "\n" + "[[[[[[[[]]]]]]]]\n" * (size // 17),
        "signs": RUN + "x = " + "-" * size + "1\n",
        "nots": RUN + "x = " + "not " * (size // 4) + "1\n",
        "a long sum": RUN + "x = " + "1+" * (size // 2) + "1\n",
        "a long comparison": RUN + "x = " + "1<" * (size // 2) + "1\n",
        "attributes": RUN + "x = a" + ".a" * (size // 2) + "\n",
        "calls": RUN + "x = a" + "()" * (size // 2) + "\n",
        "lambdas": RUN + "x = " + "lambda:" * (size // 7) + "1\n",
        "a large number": RUN + "x = " + "9" * size + "\n",
        "a large power": RUN + "x = 9 ** 9 ** 9\ny = 'a' * 10 ** 12\nz = 1 << 10 ** 9\n",
        "many large numbers": RUN + "x = 0x" + "f" * 4_000 + "\n" + "1" * 4_000 + "\n" * (size // 4_000),
        "indentation": RUN
        + "".join(" " * at + "if 1:\n" for at in range(99))
        + " " * 99
        + "pass\n"
        + "if 1: pass\n" * (size // 11),
        "elifs": RUN + "if a: pass\n" + "elif a: pass\n" * (size // 13),
        "many functions": "def f(): pass\n" * (size // 14) + RUN,
        "many arguments": "def f(" + ",".join(f"a{at}" for at in range(size // 8)) + "): pass\n" + RUN,
        "decorators": "@a\n" * (size // 3) + RUN,
        "a long string": RUN + "x = '''" + "\\N{BULLET}" * (size // 10) + "'''\n",
        "many names": RUN + "".join(f"a{at}=1;" for at in range(size // 10)) + "\n",
        "a match": RUN + "match x:\n" + "  case [[[1]]] | {'a': b} | C(d=1): pass\n" * (size // 42),
        "stars": RUN + "x = [" + "*a," * (size // 3) + "]\n",
        "wrong at the end": RUN + "x = (" + "1,\n" * (size // 3),
        "continued lines": RUN + "x = 1" + "\\\n" * (size // 2) + "\n",
        "comments": RUN + "# " + "é" * (size // 2) + "\n",
    }


def _agent(code: Row, **more: Any) -> Row:
    return {"name": "code", "mode": "code", "code": code, "tools_schema": [tool("t", {})]} | more


@kind("H3-paste", seconds=1.0)
def pasted_code(tenant: Tenant) -> None:
    """Every program as large as a file may be, pasted and as files."""

    def paste(item: tuple[str, str]) -> None:
        name, text = item
        tenant.post("/api/agents", _agent({"source": "paste", "text": text}), what=f"paste {name}")
        files = {"agent.py": text} | {f"m{at}.py": text for at in range(tenant.size(0, 4))}
        tenant.post("/api/agents", _agent({"source": "files", "files": files}), what=f"files of {name}")

    tenant.together(
        paste,
        tenant.shuffled(sources(195_000), "one f-string", "many arguments", "text in pieces"),
        at_once=3,
    )


@kind("H3-zip", seconds=1.0, growth_mb=MOST_GROWTH_BY_UPLOAD_MB)
def zipped_code(tenant: Tenant) -> None:
    """Archives: programs larger than could be pasted, bombs, many files, and archives that are broken."""
    agent_id = int(
        tenant.made(
            "/api/agents", {"name": "zip", "mode": "code", "status": "draft", "tools_schema": []}, "a draft"
        )["id"]
    )
    shapes = {
        name: {"agent.py": text.encode()} for name, text in sources(tenant.size(350_000, 2_000_000)).items()
    }
    shapes |= {
        "a bomb": {"agent.py": RUN.encode(), "big": b"\0" * tenant.size(100_000_000, 490_000_000)},
        "a bomb of a program": {"agent.py": b"#" * tenant.size(20_000_000, 100_000_000)},
        "many files": {"agent.py": RUN.encode()} | {f"f{at}.py": b"x" for at in range(9_000)},
        "too many files": {f"f{at}.py": b"x" for at in range(tenant.size(12_000, 60_000))},
        "deep folders": {"/".join(["d"] * 400) + f"/{at}.py": b"" for at in range(500)},
        "requirements": {
            "agent.py": RUN.encode(),
            "requirements.txt": b"a" * 1_000_000 + b"\n" + b"b==1\n" * 100_000,
        },
    }

    def put(item: tuple[str, dict[str, bytes]]) -> None:
        tenant.ask(
            "PUT",
            f"/api/agents/{agent_id}/code",
            _zip(item[1]),
            what=f"zip of {item[0]}",
            Content_Type="application/zip",
        )

    tenant.together(
        put, tenant.shuffled(shapes, "one f-string", "a bomb of a program", "brackets"), at_once=2
    )


def _zip(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@kind("H3-entry")
def entries(tenant: Tenant) -> None:
    """The other fields of a code agent: entrypoints, requirements, secrets."""
    text = {"source": "paste", "text": RUN}
    shapes: dict[str, Row] = {
        "a long entrypoint": {"entrypoint": "a/" * 100_000 + "b.py:run"},
        "an entrypoint of dots": {"entrypoint": "../" * 100_000},
        "long requirements": {"requirements": "a" * 900_000},
        "many requirements": {"requirements": "a==1\n" * 150_000},
        "requirements of brackets": {"requirements": "a[" + "b," * 200_000},
        "requirements of blanks": {"requirements": "a" + " " * 400_000 + "@"},
        "versions": {"requirements": "a" + ",>=1" * 200_000},
        "many secrets": {"secrets": [f"S{at}" for at in range(100_000)]},
        "one secret": {"secrets": ["S"] * 200_000},
        "a long address": {"code": {"source": "git", "url": "https://a.invalid/" + "%2e" * 300_000}},
        "a long ref": {"code": {"source": "git", "url": "https://a.invalid/", "ref": "a/" * 400_000}},
    }
    for name, more in tenant.in_turn(shapes):
        tenant.post("/api/agents", _agent(text) | more, what=f"code with {name}")


SPINS = """
import http.client, os, threading, urllib.parse

def run(task_input, *, proxy_url, run_token):
    parts, headers = urllib.parse.urlsplit(proxy_url), {"Authorization": "Bearer " + run_token}

    def knock():
        while True:
            try:
                connection = http.client.HTTPConnection(parts.netloc)
                while True:
                    connection.request("POST", parts.path + "/tools/t", b"{}", headers)
                    connection.getresponse().read()
            except Exception:
                pass

    what = task_input["user_instruction"]
    if what == "knock":
        for _ in range(4):
            threading.Thread(target=knock, daemon=True).start()
    if what == "fork":
        for _ in range(8):
            if os.fork() == 0:
                break
    kept = []
    while True:
        if what == "print":
            print("x" * 60_000, flush=True)
        if what == "eat":
            kept.append(bytearray(1 << 20))
"""


@kind("H7-spinning", seconds=2.0, runs_code=True, growth_mb=MOST_GROWTH_BY_CODE_MB)
def spinning_code(tenant: Tenant) -> None:
    """Twenty runs that spin, fork, knock, print or eat memory; another org's code runs meanwhile."""
    _run_code(tenant, ["spin", "fork", "knock", "print", "eat"], 4)


@kind("H7-knocking", seconds=1.2, runs_code=True, growth_mb=MOST_GROWTH_BY_CODE_MB)
def knocking_code(tenant: Tenant) -> None:
    """Twenty runs that flood their own door."""
    _run_code(tenant, ["knock"], 20)


def _run_code(tenant: Tenant, tasks: list[str], repeats: int) -> None:
    code = _agent({"source": "paste", "text": SPINS}, run_timeout_s=30, max_concurrency=20)
    agent_id = int(tenant.made("/api/agents", code, "code that spins")["id"])
    dataset = tenant.tasks(*[{"user": each} for each in tasks])
    asked = {"dataset_id": dataset["id"], "repeats": repeats, "concurrency": 20}
    with tenant.batch(agent_id, what="20 runs that spin", **asked) as batch_id:
        tenant.wait_for(batch_id)
