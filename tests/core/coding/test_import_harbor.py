"""Task folders in Harbor's format: what becomes of them, and what is refused by its name."""

import subprocess

import pytest

from pipelines.core.coding.dockerfile import read_dockerfile
from pipelines.core.coding.grader_tools import tools_of
from pipelines.core.coding.import_harbor import read_harbor_task
from pipelines.core.coding.imported import ImportedTask, RefusedTask, TreeFile
from support.repository import TESTS

TASKS = TESTS / "engine" / "coding" / "harbor"


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


def test_a_variable_of_the_machine_has_the_default_that_the_task_names_for_it():
    env = 'MODE = "${MODE:-quiet}", EMPTY = "${MY_EMPTY:-}", PLAIN = "1"'
    found = read("word-frequencies", **{"task.toml": f"[environment]\nenv = {{{env}}}\n"})
    assert found.scenario["env_vars"] == {"MODE": "quiet", "EMPTY": "", "PLAIN": "1"}
    told = "MODE, EMPTY have the task's own defaults: variables of the server are not passed on"
    assert told in found.notes


@pytest.mark.parametrize("value", ["${KEY}", "Bearer ${KEY:-x}", "${A:-${B}}", "${A:-x}${B:-y}"])
def test_a_variable_that_only_the_machine_knows_is_refused(value):
    (reason,) = reasons("word-frequencies", **{"task.toml": f"[environment]\nenv = {{KEY = '{value}'}}\n"})
    assert reason == f"environment.env.KEY is taken from the machine that runs it (`{value}`)"


def test_every_line_that_needs_an_image_is_told():
    assert reasons("needs-postgres") == (
        "Dockerfile line 1: needs the container image `postgres:16`",
        "Dockerfile line 3: needs the system package `jq`",
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
        ("not toml", "task.toml is not valid TOML"),
    ],
)
def test_what_only_a_container_has_is_refused(toml, reason):
    assert any(told.startswith(reason) for told in reasons("ledger-totals", **{"task.toml": toml}))


@pytest.mark.parametrize("path", ["task.toml", "instruction.md", "tests/test.sh", "solution/solve.sh"])
def test_a_task_without_one_of_its_parts_is_refused(path):
    assert f"has no {path}" in reasons("ledger-totals", **{path: None})


def test_a_test_that_is_no_text_is_refused():
    assert reasons("ledger-totals", **{"tests/data.bin": b"\xff\0"}) == ("tests/data.bin is not text",)


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
        "RUN apt-get install -y curl postgresql",
        "RUN apt-get source bash",
        "RUN python /opt/build.py",
        "RUN echo key > /etc/motd",
        "RUN cp a.py ../b.py /app/../../etc",
        "RUN git clone https://example.com/x",
        "RUN python - <<'EOF'",
        "RUN echo 'not closed",
        "RUN chmod +x /usr/bin/tool",
        "VOLUME /data",
        "FROM scratch",
        "ARG X=1",
        "ENV PATH=$PATH:/x",
    ],
)
def test_lines_that_build_an_image_are_reasons(line):
    assert built(f"FROM python:3.11\nWORKDIR /app\n{line}\n", "a.py").reasons


def test_a_long_line_is_told_in_one_sentence_and_its_packages_in_another():
    line = "RUN apt-get install -y git make golang-go && cd /opt && ./configure && make install\n"
    assert built(f"FROM debian:12\nWORKDIR /app\n{line}").reasons == [
        "Dockerfile line 3: needs the system packages `make`, `golang-go`",
        "Dockerfile line 3: `RUN cd /opt` needs a container image (and 2 more of its commands)",
    ]


def test_a_line_that_decides_something_is_not_taken_apart():
    line = 'RUN if [ "$(uname -m)" = x86_64 ]; then A=x64; else exit 1; fi && mkdir -p /app/data'
    (reason,) = built(f"FROM debian:12\nWORKDIR /app\n{line}\n").reasons
    assert reason.startswith('Dockerfile line 3: `RUN if [ "$(uname -m)"')


def test_empty_folders_are_made_in_the_workspace_and_elsewhere_are_a_note():
    text = "FROM debian:12\nRUN mkdir -p /app /app/data/in /logs/verifier /output && mkdir /data\n"
    made = built(f"{text}WORKDIR /app\nRUN touch data/in/x && mkdir -p /app/out\n")
    made.make_folders("/app")
    assert made.reasons == []
    assert made.setup == ["mkdir -p /app/data/in", "touch data/in/x", "mkdir -p /app/out"]
    assert made.notes[-1] == "its image has the empty folders /output, /data; only /app is kept here"


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


def test_tools_to_work_with_are_done_without_and_told():
    line = "RUN apt-get update \\\n  && apt-get install -y --no-install-recommends git curl=7.88 \\\n"
    made = built(f"FROM debian:12\nWORKDIR /app\n{line}  && rm -rf /var/lib/apt/lists/*\n")
    assert not made.reasons
    assert made.notes[-1].startswith("its image installs git, curl;")


def test_what_is_run_in_the_workspace_becomes_its_setup_in_order():
    text = "FROM python:3.12\nWORKDIR /app\nCOPY . /app\n"
    text += "RUN python seed.py && sh /app/make.sh; echo 'a; b' > c.txt\n"
    made = built(text + 'RUN python -c "import x; print(x)"\n', "seed.py", "make.sh")
    assert not made.reasons
    assert made.setup == [
        "python seed.py",
        "sh /app/make.sh",
        "echo 'a; b' > c.txt",
        'python -c "import x; print(x)"',
    ]


def test_how_things_are_printed_is_the_platforms_own():
    env = "ENV PYTHONUNBUFFERED=1 DEPTH=7 \\\n  LANG=C.UTF-8\nENV DEBIAN_FRONTEND noninteractive\n"
    made = built(f"FROM python:3.12\nWORKDIR /app\n{env}")
    assert not made.reasons
    assert made.env_vars == {"DEPTH": "7"}
    assert sum("PYTHONUNBUFFERED" in note for note in made.notes) == 1


def test_a_file_that_is_made_a_program_is_one_and_owners_do_not_matter():
    text = "FROM debian:12\nWORKDIR /app\nCOPY . .\n"
    text += "RUN chmod +x run.sh && chmod -R a+rX /app && chown -R me /app\n"
    made = built(text, "run.sh", "data.txt")
    assert not made.reasons
    assert {path for path, file in made.files.items() if file.is_executable} == {"/app/run.sh"}


INSTALLING = """#!/bin/bash
set -euo pipefail
apt-get update && apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh
source $HOME/.local/bin/env
# uvx -w wrong-one pytest
if uvx -p 3.13 --with "attrs>=23" \\
  -w pytest==8.4.1,pytest-timeout pytest /tests/check.py; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""


def test_what_a_grader_would_install_is_there_before_and_its_script_is_unchanged():
    task = read("word-frequencies", **{"tests/test.sh": INSTALLING})
    wanted = task.scenario["requirements"].split()
    assert wanted == ["attrs>=23", "pytest==8.4.1", "pytest-timeout"]
    assert task.scenario["test_files"]["/tests/test.sh"] == INSTALLING
    assert "/tests/.installed/.local/bin/uvx" in task.scenario["test_files"]
    (scorer,) = task.scenario["scorers"]
    assert scorer["command"].endswith(" bash /tests/test.sh")
    assert any("pytest-timeout" in note for note in task.notes)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("uvx pytest /tests", ("pytest",)),
        ("uvx --from pytest==8.4.1 pytest -q", ("pytest==8.4.1",)),
        ("uv pip install --system pytest==8.4.1 requests", ("pytest==8.4.1", "requests")),
        ("pip install -q pytest", ("pytest",)),
        ("cd /tests && python3 -m pip install --user 'attrs>=23' > /dev/null 2>&1 || true", ("attrs>=23",)),
        ("uvx --with ./wheel.whl --with git+https://example.com/x pytest", ("pytest",)),
        ("uv run pytest /tests", ()),
    ],
)
def test_packages_of_a_grader_are_read_from_its_script(line, wanted):
    tools = tools_of(f"#!/bin/bash\n{line}\n")
    assert tools is not None
    assert tools.requirements == wanted


def test_a_grader_that_installs_nothing_is_left_alone():
    assert tools_of("#!/bin/bash\n# apt-get install\npython3 /tests/check.py\n") is None


def test_programs_in_place_of_installers_go_on_and_run_only_what_was_asked(tmp_path):
    tools = tools_of(INSTALLING)
    assert tools is not None
    places = tmp_path / "bin"
    places.mkdir()
    for path, text in tools.files.items():
        is_program = "/bin/" in path
        program = places / path.rpartition("/")[2] if is_program else tmp_path / path.partition("/lib/")[2]
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755 if text.startswith("#!") else 0o644)
    env = {"PATH": f"{places}:/usr/bin:/bin", "PYTHONPATH": str(tmp_path)}
    line = "set -e; apt-get update; curl -LsSf https://astral.sh/uv/install.sh | sh; . " + str(places / "env")
    line += "; uvx -p 3.13 -w x==1 --no-cache echo one -w two; uv run echo three; uv pip install x"
    line += "; pip3 install -q x; python3 -m pip install x; ! pip list"
    done = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "one -w two\nthree\n"
    assert "nothing is installed" in done.stderr
