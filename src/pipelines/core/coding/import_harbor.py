"""Reading a task folder in Harbor's format into a scenario of ours.

    task.toml   instruction.md   environment/   tests/test.sh   solution/solve.sh

Its tests stay what they are: the folder is put at /tests when a change is graded, test.sh is run in the
workspace, and the reward that it leaves below /logs/verifier counts. Nothing of its scripts is rewritten.
"""

import math
import re
import tomllib
from typing import Any

from pipelines.core.coding.dockerfile import ImageBuild, image_complaint, read_dockerfile, without_doubles
from pipelines.core.coding.grader_tools import tools_of
from pipelines.core.coding.imported import ImportedTask, Reference, RefusedTask, Tree, TreeFile, seed_of
from pipelines.core.coding.scorers import LONGEST_TIMEOUT_S, TESTS_FOLDER
from pipelines.core.text.json_text import JsonObject

CONFIG, INSTRUCTION, TEST, SOLUTION = "task.toml", "instruction.md", "tests/test.sh", "solution/solve.sh"
#: Where Harbor reads a reward, in the order it looks.
REWARDS = ("/logs/verifier/reward.txt", "/logs/verifier/reward.json")
COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "singularity-compose.yaml")
DEFAULT_TIMEOUT_S = 600
#: A value that is wholly a variable of the machine, with what counts where the machine has none.
_WITH_DEFAULT = re.compile(r"\$\{[^{}:$]+:-([^{}$]*)\}")


def read_harbor_task(name: str, folder: Tree) -> ImportedTask | RefusedTask:
    """The folder's task, or everything that keeps it from being one here."""
    reasons = [f"has no {path}" for path in (CONFIG, INSTRUCTION, TEST, SOLUTION) if path not in folder]
    config = _config(folder, reasons)
    reasons += _needs(config, folder)
    built = _build_image(config, folder)
    workdir = _text(config, "environment", "workdir") or built.workdir
    if workdir in (None, "/") and not (reasons or built.reasons):
        built.reasons.append("works in `/`: set the graded folder with WORKDIR")
    files = built.below(workdir or "/")
    built.make_folders(workdir or "/")
    tests, solution = _texts(folder, "tests/", reasons), _texts(folder, "solution/", reasons)
    reasons += built.reasons
    if reasons:
        return RefusedTask(name=name, reasons=tuple(without_doubles(reasons)))
    tools = tools_of(tests.get("test.sh", ""))
    if tools is not None:
        built.requirements += tools.requirements
        built.notes.append(tools.note)
    variables, defaulted = _environment(config)
    if defaulted:
        kept = "have the task's own defaults" if len(defaulted) > 1 else "has the task's own default"
        named = ", ".join(defaulted)
        built.notes.append(f"{named} {kept}: variables of the server are not passed on")
    scenario: JsonObject = {
        "name": _text(config, "task", "name") or name,
        "user_instruction": folder[INSTRUCTION].text(),
        "workspace_seed": seed_of(files),
        "workdir": workdir,
        "setup_command": " && ".join(built.setup) or None,
        "requirements": "".join(f"{line}\n" for line in without_doubles(built.requirements)) or None,
        "env_vars": {**built.env_vars, **variables} or None,
        "timeouts": _timeouts(config),
        "test_files": {
            **{f"{TESTS_FOLDER}/{path}": text for path, text in tests.items()},
            **(tools.files if tools is not None else {}),
        },
        "scorers": [_scorer(config, tests, tools.before if tools is not None else "")],
    }
    return ImportedTask(
        name=str(scenario["name"]),
        scenario={key: value for key, value in scenario.items() if value is not None},
        reference=Reference(
            command="bash /solution/solve.sh",
            files={f"/solution/{path}": text for path, text in solution.items()},
        ),
        notes=tuple(built.notes),
    )


def _config(folder: Tree, reasons: list[str]) -> dict[str, Any]:
    text = folder[CONFIG].text() if CONFIG in folder else ""
    if text is None:
        reasons.append(f"{CONFIG} is not UTF-8")
        return {}
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reasons.append(f"{CONFIG} is not valid TOML: {error}")
        return {}


def _needs(config: dict[str, Any], folder: Tree) -> list[str]:
    """What a task may ask for that only a container, or another range, has."""
    found = [f"environment/{name} needs containers" for name in COMPOSE if f"environment/{name}" in folder]
    found += ["tests/Dockerfile needs a container image of its own"] if "tests/Dockerfile" in folder else []
    image = _text(config, "environment", "docker_image")
    if image and "environment/Dockerfile" not in folder and (complaint := image_complaint(image)) is not None:
        found.append(complaint)
    needs = (
        ("environment", "gpus", "asks for GPUs"),
        ("environment", "tpu", "asks for a TPU"),
        ("environment", "mcp_servers", "starts MCP servers in its container"),
        ("environment", "healthcheck", "waits for a service of its container"),
        ("verifier", "collect", "collects from services of its container"),
        ("verifier", "environment", "is graded in a container image of its own"),
    )
    found += [need for part, key, need in needs if _part(config, part).get(key)]
    found += (
        ["is graded in a container of its own"]
        if _text(config, "verifier", "environment_mode") == "separate"
        else []
    )
    found += ["is a task of several steps"] if config.get("steps") else []
    found += ["is for Windows"] if _text(config, "environment", "os") == "windows" else []
    found += [
        f"{part}.env.{name} is taken from the machine that runs it (`{value[:40]}`)"
        for part in ("environment", "verifier", "solution")
        for name, value in _variables(config, part).items()
        if "${" in value and not (part == "environment" and _WITH_DEFAULT.fullmatch(value))
    ]
    if _variables(config, "verifier"):
        found.append("verifier.env gives the grader variables of its own")
    return found + (
        ["environment/.dockerignore is not read"] if "environment/.dockerignore" in folder else []
    )


def _build_image(config: dict[str, Any], folder: Tree) -> ImageBuild:
    context = _below(folder, "environment/")
    dockerfile = context.get("Dockerfile")
    if dockerfile is not None:
        text = dockerfile.text()
        return (
            read_dockerfile(text, context)
            if text is not None
            else ImageBuild(reasons=["its Dockerfile is not text"])
        )
    if not _text(config, "environment", "docker_image"):
        return ImageBuild(reasons=["has neither environment/Dockerfile nor environment.docker_image"])
    # Without a Dockerfile Harbor puts the folder's files where the agent works.
    workdir = _text(config, "environment", "workdir") or "/app"
    return ImageBuild(workdir=workdir, files={f"{workdir}/{path}": file for path, file in context.items()})


def _scorer(config: dict[str, Any], tests: dict[str, str], before: str) -> JsonObject:
    script = "\n".join(tests.values())
    reward = next((path for path in REWARDS if path.rpartition("/")[2] in script), REWARDS[0])
    seconds = _seconds(_part(config, "verifier").get("timeout_sec")) or DEFAULT_TIMEOUT_S
    return {
        "name": "test.sh",
        "type": "command",
        "command": f"{before}bash {TESTS_FOLDER}/test.sh",
        "reward_file": reward,
        "timeout_s": min(seconds, LONGEST_TIMEOUT_S),
    }


def _timeouts(config: dict[str, Any]) -> JsonObject | None:
    seconds = _seconds(_part(config, "agent").get("timeout_sec"))
    return {"agent_s": min(seconds, LONGEST_TIMEOUT_S)} if seconds is not None else None


def _seconds(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return max(1, math.ceil(value)) if is_number else None


def _texts(folder: Tree, prefix: str, reasons: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path, file in _below(folder, prefix).items():
        text = file.text()
        if text is None:
            reasons.append(f"{prefix}{path} is not text")
        else:
            found[path] = text
    return found


def _below(folder: Tree, prefix: str) -> dict[str, TreeFile]:
    return {path.removeprefix(prefix): file for path, file in folder.items() if path.startswith(prefix)}


def _part(config: dict[str, Any], part: str) -> dict[str, Any]:
    found = config.get(part)
    return found if isinstance(found, dict) else {}


def _text(config: dict[str, Any], part: str, key: str) -> str | None:
    value = _part(config, part).get(key)
    return value if isinstance(value, str) and value else None


def _variables(config: dict[str, Any], part: str) -> dict[str, str]:
    found = _part(config, part).get("env")
    return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _environment(config: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """The variables of its container, and which of them have a default in place of the machine's."""
    environment = _variables(config, "environment")
    defaults = {
        name: found[1] for name, value in environment.items() if (found := _WITH_DEFAULT.fullmatch(value))
    }
    return {**environment, **defaults}, list(defaults)
