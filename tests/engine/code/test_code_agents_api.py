"""Registering code agents and credentials over the API: what is taken, shown, kept and refused."""

import io
import zipfile

import pytest
from code_desk import CODE_AGENT, code_agent, source_of
from git_server import git_server, repository

from pipelines.engine.access.manage_credentials import CredentialMissing, open_credentials
from pipelines.wire.names import Role
from support.desk import answered, refused

pytestmark = pytest.mark.anyio

RUN = source_of("return 'x'")
CREDENTIAL = {"name": "KEY", "value": "s3cret-value"}


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


async def put_zip(org, agent_id, raw, kind="application/zip"):
    return await org.client.put(f"/api/agents/{agent_id}/code", content=raw, headers={"Content-Type": kind})


async def created(org, **changes):
    return answered(await org.client.post("/api/agents", json=code_agent("return 'x'", **changes)), 201)


async def problems(org, **changes):
    reply = await org.client.post("/api/agents", json=code_agent("return 'x'", **changes))
    details = refused(reply, 422, "invalid_request")["details"]
    return {found["path"]: found["message"] for found in details}


async def test_the_same_code_has_one_name_wherever_it_came_from(org, tmp_path):
    files = {"agent.py": RUN, "lib/prices.py": "PRICES = {}\n"}
    by_files = await created(org, code={"source": "files", "files": files})
    draft = await created(org, code=None, status="draft")
    by_zip = answered(await put_zip(org, draft["id"], zipped(files)))
    commit = repository(tmp_path / "agent", files)
    with git_server(tmp_path) as server:
        source = {"source": "git", "url": f"{server.url}/agent", "ref": "main"}
        by_git = await created(org, code=source)
    shared = {"hash": by_files["code"]["hash"], "files": 2, "entrypoint": "agent.py:run"}
    shared |= {"bytes": len(RUN) + len("PRICES = {}\n")}
    assert by_files["code"] == {"source": "files"} | shared
    assert by_zip["code"] == {"source": "zip"} | shared
    assert by_git["code"] == source | {"directory": "", "commit": commit} | shared
    assert (draft["code"], by_zip["version"], by_zip["status"]) == (None, 2, "draft")


async def test_code_can_be_had_back_at_any_version(org):
    agent = await created(org, code={"source": "paste", "text": RUN})
    path = f"/api/agents/{agent['id']}"
    answered(await org.client.put(path, json={"code": {"source": "paste", "text": RUN + "# two\n"}}))
    for query, text in (({"version": 1}, RUN), ({}, RUN + "# two\n")):
        reply = await org.client.get(f"{path}/code", params=query)
        assert reply.headers["content-type"] == "application/zip"
        with zipfile.ZipFile(io.BytesIO(reply.content)) as archive:
            assert archive.namelist() == ["agent.py"]
            assert archive.read("agent.py").decode() == text


async def test_what_is_shown_may_be_sent_back(org):
    agent = await created(org)
    shown = {name: agent[name] for name in ("code", "mode", "entrypoint", "requirements", "secrets")}
    again = answered(await org.client.put(f"/api/agents/{agent['id']}", json=shown | {"name": "New name"}))
    assert again["code"] == agent["code"]
    assert (again["version"], again["name"]) == (2, "New name")


async def test_nobody_takes_code_by_its_name(house, org):
    """The record of another org's code is no source: only the code itself is."""
    mine = await created(org)
    other = await house.another_org()
    reply = await other.client.post("/api/agents", json=code_agent("x", code=mine["code"]))
    assert refused(reply, 422, "invalid_request")
    theirs = answered(await other.client.post("/api/agents", json=code_agent("return 1")), 201)
    path = f"/api/agents/{theirs['id']}"
    refused(await other.client.put(path, json={"code": mine["code"]}), 422, "invalid_request")
    for method, path in (("GET", "code"), ("PUT", "code")):
        reply = await other.client.request(
            method,
            f"/api/agents/{mine['id']}/{path}",
            content=zipped({"agent.py": RUN}),
            headers={"Content-Type": "application/zip"},
        )
        refused(reply, 404, "not_found")


async def test_another_entrypoint_is_held_against_the_code_that_is_there(org):
    files = {"agent.py": RUN, "bots/refund.py": RUN.replace("def run", "def go")}
    agent = await created(org, code={"source": "files", "files": files})
    path = f"/api/agents/{agent['id']}"
    changed = answered(await org.client.put(path, json={"entrypoint": "bots/refund.py:go"}))
    assert changed["code"]["entrypoint"] == "bots/refund.py:go"
    assert changed["code"]["hash"] == agent["code"]["hash"]
    error = refused(await org.client.put(path, json={"entrypoint": "bots/refund.py"}), 422, "invalid_request")
    assert "has no function `run`" in error["details"][0]["message"]
    error = refused(await org.client.put(path, json={"entrypoint": "nothing.py"}), 422, "invalid_request")
    assert "there is no file `nothing.py`" in error["details"][0]["message"]


async def test_an_agent_leaves_code_mode_and_comes_back(org):
    agent = await created(org)
    path = f"/api/agents/{agent['id']}"
    gone = answered(
        await org.client.put(
            path, json={"mode": "external_http", "endpoint_url": "https://agents.example.com/x"}
        )
    )
    assert not {"code", "entrypoint", "requirements", "secrets"} & gone.keys()
    refused(await org.client.put(path, json={"mode": "code"}), 422, "invalid_request")
    back = answered(
        await org.client.put(path, json={"mode": "code", "code": {"source": "paste", "text": RUN}})
    )
    assert back["code"]["hash"] == agent["code"]["hash"]


async def test_a_draft_needs_no_code_until_it_is_published(org):
    agent = await created(org, code=None, status="draft")
    path = f"/api/agents/{agent['id']}"
    error = refused(await org.client.post(f"{path}/publish"), 422, "invalid_request")
    assert error["details"][0]["path"] == "/code"
    answered(await put_zip(org, agent["id"], zipped({"agent.py": RUN})))
    assert answered(await org.client.post(f"{path}/publish"))["status"] == "published"


async def test_everything_wrong_is_said_at_once(org):
    found = await problems(
        org,
        name="",
        run_timeout_s=0,
        entrypoint="agent.py:run",
        secrets=["GOOD", "PATH", "NOT_THERE"],
        code={"source": "files", "files": {"../x": "", "agent.py": "def run(:"}},
    )
    assert {"/name", "/run_timeout_s", "/secrets/1", "/code/files/..~1x"} <= found.keys()
    found = await problems(org, secrets=["NOT_THERE"], code={"source": "paste", "text": "def run(: pass"})
    assert found["/secrets/0"] == "there is no credential `NOT_THERE`"
    assert found["/code/text"].startswith("`agent.py`, line 1:")


@pytest.mark.parametrize(
    ("changes", "path", "message"),
    [
        ({"code": None}, "/code", "the code is missing"),
        ({"mode": "external_http"}, "/code", "for agents of mode `code`"),
        ({"entrypoint": "agent"}, "/entrypoint", "not an entrypoint"),
        ({"entrypoint": "../agent.py"}, "/entrypoint", "not an entrypoint"),
        ({"entrypoint": "main.py:go"}, "/code/text", "has no function `go`"),
        ({"code": {"source": "files", "files": {"a.py": "", "b.py": ""}}}, "/entrypoint", "not clear"),
        ({"code": {"source": "git", "url": "/etc"}}, "/code/url", "must start with"),
        ({"secrets": "KEY"}, "/secrets", "array of strings"),
        ({"requirements": 7}, "/requirements", "must be a string"),
        ({"requirements": "httpx\n--index-url x"}, "requirements, line 2", "is an option of pip"),
        (
            {"code": {"source": "files", "files": {"agent.py": RUN, "requirements.txt": "./x.whl"}}},
            "requirements, line 1",
            "names a file",
        ),
    ],
)
async def test_what_is_wrong_has_its_place(org, changes, path, message):
    assert message in (await problems(org, **changes))[path]


async def test_fields_of_code_are_refused_on_other_agents(org):
    body = {
        "name": "x",
        "endpoint_url": "https://agents.example.com/x",
        "secrets": ["A"],
        "entrypoint": "a.py",
    }
    error = refused(await org.client.post("/api/agents", json=body), 422, "invalid_request")
    assert {found["path"] for found in error["details"]} == {"/secrets", "/entrypoint"}


async def test_zips_are_refused_with_everything_wrong(org):
    agent = await created(org)
    reply = await put_zip(org, agent["id"], zipped({"agent.py": RUN, "../x": "", "a\\b": ""}))
    assert len(refused(reply, 422, "invalid_request")["details"]) == 2
    reply = await put_zip(org, agent["id"], zipped({"my-agent/agent.py": RUN, "my-agent/x.py": ""}))
    details = refused(reply, 422, "invalid_request")["details"]
    assert details[0]["path"] == "/entrypoint"
    reply = await put_zip(org, agent["id"], b"not a zip")
    refused(reply, 422, "invalid_request")
    refused(await put_zip(org, agent["id"], b"{}", "application/json"), 415, "unsupported_media_type")
    plain = await org.agent()
    refused(await put_zip(org, plain["id"], zipped({"agent.py": RUN})), 409, "conflict")
    assert answered(await org.client.get(f"/api/agents/{agent['id']}"))["version"] == 1


async def test_a_body_of_a_megabyte_of_code_is_taken(org):
    files = {f"data_{number}.py": "# ä\n" * 40_000 for number in range(5)}
    agent = await created(org, code={"source": "files", "files": {"agent.py": RUN, **files}})
    assert agent["code"]["files"] == 6


async def test_large_code_is_stored_in_parts_and_read_back_whole(org):
    import random

    noise = random.Random(7).randbytes(5 * 1024 * 1024)
    agent = await created(org)
    raw = zipped({"agent.py": RUN, "noise.bin": noise})
    answered(await put_zip(org, agent["id"], raw))
    assert (await org.client.get(f"/api/agents/{agent['id']}/code")).content == raw


async def test_the_git_commit_is_recorded_and_refusals_name_the_url(org, tmp_path):
    repository(tmp_path / "bad", {"agent.py": "def run(:"})
    with git_server(tmp_path) as server:
        found = await problems(org, code={"source": "git", "url": f"{server.url}/bad"})
        assert found["/code"].startswith("`agent.py`, line 1")
        found = await problems(org, code={"source": "git", "url": f"{server.url}/nothing"})
        assert "not found" in found["/code/url"]
        asked = len(server.asked)
        await problems(org, name="", code={"source": "git", "url": f"{server.url}/bad"})
        assert len(server.asked) == asked, "nobody is called for an agent that is refused anyway"


# -- credentials


async def test_a_credential_is_never_shown_again(house, org):
    made = answered(
        await org.client.post("/api/credentials", json={"name": "KEY", "value": "s3cret-value"}), 201
    )
    assert set(made) == {"id", "name", "hosts", "created_at", "updated_at", "soft_warnings"}
    assert made.pop("soft_warnings") == []
    listed = answered(await org.client.get("/api/credentials"))
    assert listed["items"] == [made]
    raw = await house.platform.database.read(
        lambda connection: connection.execute("SELECT sealed_value FROM credentials").fetchone()[0]
    )
    assert b"s3cret" not in bytes(raw)


async def test_credentials_belong_to_their_org_and_their_name(house, org):
    made = answered(
        await org.client.post("/api/credentials", json={"name": "KEY", "value": "s3cret-value"}), 201
    )
    other = await house.another_org()
    assert answered(await other.client.get("/api/credentials"))["items"] == []
    refused(await other.client.delete(f"/api/credentials/{made['id']}"), 404, "not_found")
    reply = await other.client.post("/api/agents", json=code_agent("return 1", secrets=["KEY"]))
    assert "no credential `KEY`" in refused(reply, 422, "invalid_request")["details"][0]["message"]


async def test_a_sealed_value_opens_under_its_own_name_only(house, org):
    for name in ("KEY", "OTHER"):
        body = {"name": name, "value": f"value of {name}"}
        answered(await org.client.post("/api/credentials", json=body), 201)
    both = await open_credentials(house.platform, org.id, ["KEY", "OTHER"])
    assert both == {"KEY": "value of KEY", "OTHER": "value of OTHER"}
    swap = (
        "UPDATE credentials SET sealed_value = (SELECT sealed_value FROM credentials WHERE name = 'OTHER')"
        " WHERE name = 'KEY'"
    )
    await house.platform.database.write(lambda connection: connection.execute(swap))
    with pytest.raises(CredentialMissing, match="`KEY` was encrypted with another secret key"):
        await open_credentials(house.platform, org.id, ["KEY"])


async def test_who_may_do_what_with_credentials(org):
    viewer, contributor = await org.key_of(Role.VIEWER), await org.key_of(Role.CONTRIBUTOR)
    refused(await viewer.client.post("/api/credentials", json=CREDENTIAL), 403, "forbidden")
    made = answered(await contributor.client.post("/api/credentials", json=CREDENTIAL), 201)
    made.pop("soft_warnings")
    assert answered(await viewer.client.get("/api/credentials"))["items"] == [made]
    refused(await viewer.client.delete(f"/api/credentials/{made['id']}"), 403, "forbidden")
    assert (await contributor.client.delete(f"/api/credentials/{made['id']}")).status_code == 204
    refused(await contributor.client.delete(f"/api/credentials/{made['id']}"), 404, "not_found")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"name": "A-B", "value": "s3cret-value"}, "/name"),
        ({"name": "PIPELINES_RUN_TOKEN", "value": "s3cret-value"}, "/name"),
        ({"name": "KEY", "value": "s3c"}, "/value"),
        ({"name": "KEY", "value": "s3cret" * 10_000}, "/value"),
        ({"name": "KEY", "value": "s3cret\0value"}, "/value"),
        ({"name": "KEY"}, "/value"),
        ({"name": "KEY", "value": ["s3cret-value"]}, "/value"),
        ({"name": "KEY", "value": "s3cret-value", "more": 1}, "/more"),
    ],
)
async def test_bad_credentials_are_refused_without_a_word_of_their_value(org, body, path):
    reply = await org.client.post("/api/credentials", json=body)
    assert path in [found["path"] for found in refused(reply, 422, "invalid_request")["details"]]
    assert "s3c" not in reply.text


def test_the_example_is_an_agent_of_one_file():
    from pipelines.core.code.code_entry import entry_problems

    assert entry_problems(CODE_AGENT.read_bytes(), "agent.py", function="run", place="") == []
