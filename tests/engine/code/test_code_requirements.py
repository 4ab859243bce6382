"""Requirements of uploaded code: installed from a folder of wheels, as where there is no index."""

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest
from code_desk import code_agent, run_code, run_of, source_of

from support.server_process import fresh_house_in


def wheel(folder: Path, name: str, version: str, text: str) -> None:
    """The smallest wheel there is: one module."""
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {path: hashlib.sha256(body.encode()).digest() for path, body in files.items()}
    lines = [
        f"{path},sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()},{len(files[path])}"
        for path, digest in digests.items()
    ]
    files[f"{about}/RECORD"] = "\n".join([*lines, f"{about}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, body in files.items():
            archive.writestr(path, body)


@pytest.fixture(scope="module")
def stocked(tmp_path_factory):
    """A server whose only index is a folder."""
    wheels = tmp_path_factory.mktemp("wheels")
    wheel(wheels, "greeting", "1.0", "WORD = 'one'\n")
    wheel(wheels, "greeting", "2.0", "WORD = 'two'\n")
    variables = {"UV_FIND_LINKS": str(wheels), "UV_NO_INDEX": "1", "UV_OFFLINE": "1"}
    with fresh_house_in(tmp_path_factory.mktemp("stocked") / "house", variables) as house:
        api = house.open()
        found = api.get("/api/code-mode")
        if not found["available"]:
            pytest.skip(found["reason"])
        yield api


GREET = "import greeting\nreturn greeting.WORD"


@pytest.mark.slow
def test_requirements_of_the_agent_and_of_its_tree(stocked):
    assert run_code(stocked, GREET, requirements="greeting==1.0")["final_response"] == "one"
    files = {"agent.py": source_of(GREET), "requirements.txt": "# the newest\ngreeting\n"}
    code = {"source": "files", "files": files}
    assert run_code(stocked, GREET, code=code)["final_response"] == "two"
    # The agent's own word stands in the place of the file.
    assert run_code(stocked, GREET, code=code, requirements="greeting<2")["final_response"] == "one"
    without = run_code(stocked, GREET, code=code, requirements="")
    assert "No module named 'greeting'" in without["error_json"]["detail"]


def test_what_cannot_be_installed_is_said_and_nothing_was_called(stocked):
    agent = stocked.post("/api/agents", code_agent(GREET, requirements="nowhere-to-be-found"), 201)
    tested = stocked.post(f"/api/agents/{agent['id']}/test-connection")
    assert tested["ok"] is False
    assert "nowhere-to-be-found" in tested["problem"]
    run = run_of(stocked, agent["id"])
    assert (run["status"], run["error_class"]) == ("failed", "agent_unreachable")
    assert "nowhere-to-be-found" in run["error_json"]["detail"]
    assert run["error_json"]["reached"] == "no"
