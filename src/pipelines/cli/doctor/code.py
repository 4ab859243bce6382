"""Checks of code to upload: its entry point, and the files that are uploaded."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.cli.code_upload import SDK, CannotUpload, collect_code
from pipelines.cli.doctor.findings import Finding, list_problems, ok, problem, warning
from pipelines.cli.project import Project
from pipelines.core.code.code_entry import entry_problems

CODE, UPLOAD = "entry", "upload"
USUAL_FILES = ("agent.py", "main.py", "run.py")
USUAL_FUNCTION = "run"
MOST_SHOWN = 50
SIGNATURE = "def run(task_input, *, proxy_url, run_token): ..."


def code_findings(project: Project) -> Iterator[Finding]:
    if "code" in project.definition:
        yield ok(UPLOAD, "agent.json says itself where the code is; it is checked when it is registered")
        return
    yield from _check_entry(project)
    try:
        code = collect_code(project)
    except CannotUpload as error:
        yield problem(UPLOAD, str(error))
    else:
        yield ok(UPLOAD, _format_names(sorted(code.files) if code is not None else []))
    if _requires_sdk(project.directory / "requirements.txt"):
        change = "take it out: what imports pipelines gets the SDK with the upload"
        yield warning("requirements", "requirements.txt asks the sandbox to install the SDK", change)


def _format_names(names: list[str]) -> str:
    own = [name for name in names if not name.startswith(f"{SDK}/")]
    more = f" and {len(own) - MOST_SHOWN} more" if len(own) > MOST_SHOWN else ""
    return ", ".join(own[:MOST_SHOWN]) + more + (" and the SDK" if len(own) < len(names) else "")


def _check_entry(project: Project) -> Iterator[Finding]:
    named = project.definition.get("entrypoint")
    file, _, function = (named if isinstance(named, str) else "").partition(":")
    file = file or next((name for name in USUAL_FILES if (project.directory / name).is_file()), "")
    function = function or USUAL_FUNCTION
    if not file:
        change = f'write an agent.py with {SIGNATURE} or name another file: "entrypoint": "file.py:run"'
        yield problem(CODE, "there is nothing to call: no agent.py, main.py or run.py", change)
        return
    try:
        source = (project.directory / file).read_bytes()
    except OSError as error:
        yield problem(CODE, f"{file}: {error.strerror or error}", "correct `entrypoint` in agent.json")
        return
    problems = entry_problems(source, file, function=function, place="")
    yield from list_problems(CODE, problems)
    if not problems:
        yield ok(CODE, f"{file} has a {function} that can be called")


def _requires_sdk(path: Path) -> bool:
    if not path.is_file():
        return False
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.strip().startswith("pipelines-odyssey") for line in lines)
