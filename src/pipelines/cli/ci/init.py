"""`pipelines ci init`: writes a pipelines.yaml for a repository's agents, and a workflow that runs it."""

import os
import shlex
import subprocess
from pathlib import Path

import typer

from pipelines.cli.files import stop
from pipelines.cli.project import AGENT_FILE, TASKS_FILES, tasks_file
from pipelines.cli.run.suites import FILE
from pipelines.core.text.json_text import JsonObject
from pipelines.core.text.yaml_text import as_yaml

TEMPLATES = Path(__file__).parent.parent / "workflows"
PACKAGE, WHEEL = "pipelines-odyssey", "pipelines_odyssey-*.whl"
SCENARIOS = "scenarios.yaml"
DEEPEST = 3  # folders below the top in which agents are looked for
SKIPPED_FOLDERS = {"node_modules", "site-packages", "__pycache__"}
GITHUB_FILE, GITLAB_FILE = ".github/workflows/odyssey.yml", ".gitlab-ci.yml"
GITLAB_EXTRA_FILE = (
    ".gitlab/odyssey.yml"  # where there is a .gitlab-ci.yml already, which is not ours to change
)
FILL_IN_INSTALL = (
    "echo 'FILL IN how Odyssey is installed: it is on no package index yet. Commit its wheel and install it,"
    " or add its repository as a submodule and install its folder.' >&2; exit 3"
)
USUAL_BRANCHES = ("main", "master", "trunk")


def write_workflows(
    directory: Path, *, github: bool, gitlab: bool, install: str | None, is_forced: bool
) -> None:
    """Write all files or none. An existing pipelines.yaml is not changed."""
    top = directory.resolve()
    if not top.is_dir():
        stop(f"{directory}: there is no such directory")
    github, gitlab = _forges(top, github=github, gitlab=gitlab)
    contents: dict[str, str] = {}
    if not (top / FILE).exists():
        contents[FILE] = _suites(top)
    lines = _install_lines(top, install)
    if github:
        contents[GITHUB_FILE] = _fill_template("github.yml", top, lines, indent=10)
    if gitlab:
        is_taken = (top / GITLAB_FILE).exists() and not is_forced
        contents[GITLAB_EXTRA_FILE if is_taken else GITLAB_FILE] = _fill_template(
            "gitlab.yml", top, lines, indent=4, item="- "
        )
    existing = [name for name in contents if (top / name).exists()]
    if existing and not is_forced:
        stop(f"{', '.join(existing)}: already there. Nothing was written; --force overwrites")
    _write(top, contents)
    _print_written(contents, lines, is_yaml_new=FILE in contents)


def _forges(top: Path, *, github: bool, gitlab: bool) -> tuple[bool, bool]:
    """The options, else what the repository shows. Ends the command if it shows both or neither."""
    if github or gitlab:
        return github, gitlab
    remote = _git(top, "remote", "get-url", "origin")
    seen = (
        (top / ".github").is_dir() or "github" in remote,
        (top / GITLAB_FILE).exists() or "gitlab" in remote,
    )
    if seen.count(True) != 1:
        stop("Pass --github, --gitlab or both: the repository does not show which CI it uses.")
    return seen


def _git(top: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=top, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _main_branch(top: Path) -> str:
    """The remote's default branch, else a usual name: the current branch is often a feature branch."""
    remote = _git(top, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").removeprefix("origin/")
    if remote:
        return remote
    here = _git(top, "symbolic-ref", "--short", "HEAD")
    if here in USUAL_BRANCHES:
        return here
    branches = _git(top, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes/origin")
    there = {name.removeprefix("origin/") for name in branches.splitlines()}
    return next((name for name in USUAL_BRANCHES if name in there), here or "main")


# -- pipelines.yaml


def _suites(top: Path) -> str:
    folders = _agent_folders(top)
    if not folders:
        stop(
            f"There is no {AGENT_FILE} here: make an agent with `pipelines odyssey init`, or write a {FILE}."
        )
    agents: JsonObject = {}
    suites: JsonObject = {}
    for folder in folders:
        place = folder.relative_to(top).as_posix()
        label = folder.name if folder != top else "agent"
        label = label if label not in agents else place.replace("/", "-")
        agents[label] = {"folder": place}
        tasks = folder / tasks_file(folder)
        if tasks.is_file():
            dataset = tasks.relative_to(top).as_posix()
            suites[label] = {"agent": label, "dataset": dataset, "repeats": 3, "min_pass": 2}
        if (folder / SCENARIOS).is_file():
            scenarios = (folder / SCENARIOS).relative_to(top).as_posix()
            suites[f"{label}-pressure"] = {"agent": label, "scenarios": scenarios, "fail_on": "critical"}
    if not suites:
        stop(f"The agents here have neither {TASKS_FILES[0]} nor {SCENARIOS} beside them: nothing to run.")
    return (
        "\n".join(
            ["# What `pipelines run` runs. Every field: docs/reference/suites.md", *_block("agents", agents)]
        )
        + "\n\n"
        + "\n".join(_block("suites", suites))
        + "\n"
    )


def _block(key: str, entries: JsonObject) -> list[str]:
    """YAML with a line for each field, easy to edit."""
    lines = [f"{key}:"]
    for name, fields in entries.items():
        lines.append("  " + as_yaml({name: None}).removesuffix(" null\n"))
        lines += ["    " + line for line in as_yaml(fields).splitlines()]
    return lines


def _agent_folders(top: Path) -> list[Path]:
    found = []
    for folder, names, files in os.walk(top):
        here = Path(folder)
        depth = len(here.relative_to(top).parts)
        names[:] = sorted(
            n for n in names if not n.startswith(".") and n not in SKIPPED_FOLDERS and depth < DEEPEST
        )
        if here != top and _is_odyssey(here / "pyproject.toml"):
            names.clear()  # its examples are not this repository's agents
        elif AGENT_FILE in files:
            found.append(here)
    return found


# -- the workflow


def _install_lines(top: Path, install: str | None) -> list[str]:
    """Install Odyssey first, as the repository declares it, then the agents' requirements."""
    lines = [install or _own_package(top) or FILL_IN_INSTALL]
    for folder in dict.fromkeys([top, *_agent_folders(top)]):
        needed = folder / "requirements.txt"
        if needed.is_file():
            lines.append(f"python -m pip install -r {shlex.quote(needed.relative_to(top).as_posix())}")
    return lines


def _own_package(top: Path) -> str | None:
    wheels = [
        path
        for place in (top, *(top / n for n in ("vendor", "wheels", "dist")))
        for path in place.glob(WHEEL)
    ]
    if wheels:
        return f"python -m pip install {shlex.quote(wheels[-1].relative_to(top).as_posix())}"
    for project in sorted(
        [*top.glob("pyproject.toml"), *top.glob("*/pyproject.toml"), *top.glob("*/*/pyproject.toml")]
    ):
        if _is_odyssey(project):
            place = project.parent.relative_to(top).as_posix()
            return f"python -m pip install {shlex.quote(f'./{place}' if place != '.' else '.')}"
    return None


def _is_odyssey(project: Path) -> bool:
    return project.is_file() and f'name = "{PACKAGE}"' in project.read_text(
        encoding="utf-8", errors="replace"
    )


def _fill_template(template: str, top: Path, lines: list[str], *, indent: int, item: str = "") -> str:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    margin = " " * indent
    indented = [f"|\n{margin}  {line}" for line in lines] if item else lines
    listed = "\n".join(f"{margin}{item}{line}" for line in indented)
    return text.replace("@@INSTALL@@", listed).replace("@@BRANCH@@", _main_branch(top))


def _write(top: Path, contents: dict[str, str]) -> None:
    try:
        for name, text in contents.items():
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text, encoding="utf-8")
    except OSError as error:
        stop(f"{error.filename}: {error.strerror or error}")


def _print_written(contents: dict[str, str], lines: list[str], *, is_yaml_new: bool) -> None:
    for name in contents:
        typer.echo(f"Wrote {name}")
    if FILL_IN_INSTALL in lines:
        typer.echo("Fill in how Odyssey is installed there: the repository does not have it.")
    if GITLAB_EXTRA_FILE in contents:
        typer.echo(f"Add to {GITLAB_FILE}:  include: {{local: {GITLAB_EXTRA_FILE}}}")
    typer.echo("Try it here first: pipelines run" if is_yaml_new else "Try it here: pipelines run")
