"""`pipelines odyssey init`: a new agent that passes its own test at once, written into an empty folder."""

import json
import shlex
from pathlib import Path

import typer

from pipelines.cli.files import stop

SCAFFOLDS = Path(__file__).parent.parent / "scaffolds"
NAME = "my-agent"  # as it stands in the scaffolds; the folder's own name takes its place
DOT = "dot-"  # files that begin with a dot would be hidden from packaging tools
LONGEST_NAME = 240  # an agent's may have 255


def write_agent(directory: Path, framework: str, mode: str) -> None:
    """Write all files or none. Existing files are never changed."""
    contents = _insert_name(_scaffold_files(framework, mode), _agent_name(directory))
    _check_is_free(directory, set(contents))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path, text in contents.items():
            with (directory / path).open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as error:
        stop(f"{error.filename or directory}: {error.strerror or error}")
    _print_next_steps(directory, sorted(contents))


def _agent_name(directory: Path) -> str:
    """The folder's name, unless it is a number: commands read a number as an agent's id."""
    name = directory.resolve().name[:LONGEST_NAME]
    if not name.strip() or not name.isprintable():
        return NAME
    return f"agent-{name}" if name.isdigit() else name


def _insert_name(contents: dict[str, str], name: str) -> dict[str, str]:
    readme = contents["README.md"].replace(f"--agent {NAME}", f"--agent {shlex.quote(name)}")
    escaped = json.dumps(name, ensure_ascii=False)[1:-1]
    named = {
        "README.md": readme.replace(NAME, name),
        "agent.json": contents["agent.json"].replace(NAME, escaped),
    }
    return contents | named


def _scaffold_files(framework: str, mode: str) -> dict[str, str]:
    """The files of all layers, from common to specific; a later layer replaces files of an earlier one."""
    family = "plain" if framework == "plain" else "frameworks"
    layers = ["common", mode, family, f"{family}-{mode}", framework, f"{framework}-{mode}"]
    found: dict[str, str] = {}
    for layer in layers:
        folder = SCAFFOLDS / layer
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_file():
                named = "." + path.name.removeprefix(DOT) if path.name.startswith(DOT) else path.name
                found[named] = path.read_text(encoding="utf-8")
    return found


def _check_is_free(directory: Path, names: set[str]) -> None:
    """Hidden files (a repository, an environment) are allowed; anything else could be someone's work."""
    if not directory.exists():
        return
    if not directory.is_dir():
        stop(f"{directory} is a file; name a folder that is empty or not there yet.")
    there = {path.name for path in directory.iterdir()}
    existing = sorted(name for name in there if name in names or not name.startswith("."))
    if existing:
        listed = ", ".join(existing[:5]) + (", …" if len(existing) > 5 else "")
        stop(f"{directory} is not empty ({listed}). Nothing was written; name another folder with --dir.")


def _print_next_steps(directory: Path, names: list[str]) -> None:
    typer.echo(f"Wrote {len(names)} files to {directory}: {', '.join(names)}")
    typer.echo("Next:")
    if directory.resolve() != Path.cwd():
        typer.echo(f"  cd {shlex.quote(str(directory))}")
    typer.echo("  pip install -r requirements.txt pytest")
    typer.echo("  pytest                      # runs its tasks, without a model key or a network")
    typer.echo("  pipelines odyssey doctor    # finds what would keep it from running")
    typer.echo("  pipelines odyssey dev       # runs its tasks and shows each call")
