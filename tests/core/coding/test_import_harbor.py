"""Task folders in Harbor's format: what becomes of them, and what is refused by its name."""

from pathlib import Path

import pytest

from pipelines.core.coding.dockerfile import read_dockerfile
from pipelines.core.coding.import_harbor import read_harbor_task
from pipelines.core.coding.imported import ImportedTask, RefusedTask, TreeFile

TASKS = Path(__file__).parents[2] / "coding" / "harbor"


def folder(name: str, **changes: str | bytes | None) -> dict[str, TreeFile]:
    """A task's folder; `changes` are files by path, None takes one away."""
    top = TASKS / name
    files = {
        path.relative_to(top).as_posix(): TreeFile(data=path.read_bytes())
        for path in top.rglob("*")
        if path.is_file()
    }
    for path, data in changes.items():
        raw = data.encode() if isinstance(data, str) else data
        if raw is None:
            del files[path]
        else:
            files[path] = TreeFile(data=raw)
    return files


def read(name: str, **changes: str | bytes | None) -> ImportedTask:
    task = read_harbor_task(name, folder(name, **changes))
    assert isinstance(task, ImportedTask), task
    return task


def reasons(name: str, **changes: str | bytes | None) -> tuple[str, ...]:
    task = read_harbor_task(name, folder(name, **changes))
    assert isinstance(task, RefusedTask), task
    return task.reasons


def test_a_task_becomes_a_scenario_with_its_tests_outside_of_the_workspace():
    task = read("word-frequencies")
    scenario = task.scenario
    assert scenario["name"] == "odyssey/word-frequencies"
    assert set(scenario["workspace_seed"]["files"]) == {"frequencies.py", "sample.txt"}
    assert scenario["workdir"] == "/app"
    assert set(scenario["test_files"]) == {"/tests/test.sh", "/tests/check.py"}
    assert scenario["timeouts"] == {"agent_s": 120}
    (scorer,) = scenario["scorers"]
    assert scorer["command"] == "bash /tests/test.sh"
    assert scorer["reward_file"] == "/logs/verifier/reward.txt"
    assert scorer["timeout_s"] == 60


def test_its_solution_is_for_the_proof_and_in_no_part_of_the_scenario():
    task = read("word-frequencies")
    assert set(task.reference.files) == {"/solution/solve.sh", "/solution/frequencies.py"}
    assert "string.punctuation" not in str(task.scenario)


def test_variables_of_image_and_task_and_a_reward_in_json_are_read():
    scenario = read("ledger-totals").scenario
    assert scenario["name"] == "ledger-totals"
    assert scenario["env_vars"] == {"TOTALS": "totals.json", "LEDGER": "ledger.csv"}
    assert scenario["scorers"][0]["reward_file"] == "/logs/verifier/reward.json"


def test_every_line_that_needs_an_image_is_told():
    assert reasons("needs-postgres") == (
        "Dockerfile line 1: needs the container image `postgres:16`",
        "Dockerfile line 3: `RUN apt-get update` needs a container image",
        "Dockerfile line 3: `RUN apt-get install -y jq` needs a container image",
        "Dockerfile line 5: `COPY --from=builder /x /work/x` needs a container image",
        "Dockerfile line 6: there is no `missing.csv` in environment/",
    )


def test_compose_is_refused_by_its_name():
    assert "environment/docker-compose.yaml needs containers" in reasons("needs-compose")


@pytest.mark.parametrize(
    ("toml", "reason"),
    [
        ("[environment]\ngpus = 1\n", "asks for GPUs"),
        ("[[steps]]\nname = 'one'\n", "is a task of several steps"),
        ("[environment]\nos = 'windows'\n", "is for Windows"),
        ("[verifier]\nenvironment_mode = 'separate'\n", "is graded in a container of its own"),
        ("[[environment.mcp_servers]]\nname = 'x'\n", "starts MCP servers in its container"),
        ("[verifier]\nenv = {KEY = '${OPENAI_API_KEY}'}\n", "verifier.env.KEY is taken from the machine"),
        ("not toml", "task.toml is no TOML"),
    ],
)
def test_what_only_a_container_has_is_refused(toml, reason):
    assert any(told.startswith(reason) for told in reasons("ledger-totals", **{"task.toml": toml}))


@pytest.mark.parametrize("path", ["task.toml", "instruction.md", "tests/test.sh", "solution/solve.sh"])
def test_a_task_without_one_of_its_parts_is_refused(path):
    assert f"has no {path}" in reasons("ledger-totals", **{path: None})


def test_a_test_that_is_no_text_is_refused():
    assert reasons("ledger-totals", **{"tests/data.bin": b"\xff\0"}) == ("tests/data.bin is no text",)


def test_binary_files_of_the_workspace_are_packed():
    seed = read("word-frequencies", **{"environment/app/data.bin": b"\xff\0"}).scenario["workspace_seed"]
    assert seed["type"] == "archive"


def built(text: str, *paths: str):
    return read_dockerfile(text, {path: TreeFile(data=path.encode()) for path in paths})


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("COPY . /app", {"/app/a.py", "/app/src/b.py"}),
        ("COPY . .", {"/app/a.py", "/app/src/b.py"}),
        ("COPY src /app/src", {"/app/src/b.py"}),
        ("COPY ./src/ lib/", {"/app/lib/b.py"}),
        ("COPY a.py src/b.py ./x/", {"/app/x/a.py", "/app/x/b.py"}),
        ("COPY a.py b.py", {"/app/b.py"}),
        ('COPY ["a.py", "/app/c d.py"]', {"/app/c d.py"}),
        ("ADD --chown=1000:1000 a.py /app/", {"/app/a.py"}),
    ],
)
def test_copies_go_where_docker_puts_them(line, files):
    made = built(f"FROM python:3.11\nWORKDIR /app\n{line}\n", "a.py", "src/b.py")
    assert not made.reasons
    assert set(made.files) == files


@pytest.mark.parametrize(
    "line",
    [
        "ADD https://example.com/x.tar /app/",
        "COPY *.py /app/",
        "COPY ../secret /app/",
        "RUN make",
        "RUN pip install -r requirements.txt",
        "RUN pip install git+https://example.com/x",
        "RUN pip install pytest && curl example.com",
        "VOLUME /data",
        "FROM scratch",
        "ARG X=1",
        "ENV PATH=$PATH:/x",
    ],
)
def test_lines_that_build_an_image_are_reasons(line):
    assert built(f"FROM python:3.11\nWORKDIR /app\n{line}\n", "a.py").reasons


def test_packages_that_pip_would_install_become_requirements():
    run = "RUN pip install --no-cache-dir \\\n  pytest==8.4.1 \\\n  'attrs>=23'\n"
    made = built(f"FROM python:3.12-slim\nWORKDIR /app\n{run}")
    assert not made.reasons
    assert made.requirements == ["pytest==8.4.1", "attrs>=23"]


@pytest.mark.parametrize("image", ["alexgshaw/x:1", "ghcr.io/team/python:3.11", "node:22", "alpine"])
def test_other_images_are_needed(image):
    assert built(f"FROM {image}\nWORKDIR /app\n").reasons == [
        f"Dockerfile line 1: needs the container image `{image}`"
    ]


def test_a_copy_out_of_the_working_folder_is_a_reason():
    made = built("FROM debian:12\nWORKDIR /app\nCOPY a.py /etc/a.py\n", "a.py")
    made.below("/app")
    assert made.reasons == ["copies `/etc/a.py` outside of /app, where the agent works"]
