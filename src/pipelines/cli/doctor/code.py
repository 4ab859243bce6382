"""Checks of code to upload: what is called, whether it can be, what goes along."""

from collections.abc import Iterator
from pathlib import Path

from pipelines.cli.code_upload import SDK, CannotUpload, code_of
from pipelines.cli.doctor.findings import Finding, doubt, fine, listed, wrong
from pipelines.cli.project import Project
from pipelines.core.code.code_entry import entry_problems

CODE, UPLOAD = "entry", "upload"
USUAL_FILES = ("agent.py", "main.py", "run.py")
USUAL_FUNCTION = "run"
MOST_SHOWN = 50
SIGNATURE = "def run(task_input, *, proxy_url, run_token): ..."


def code_findings(project: Project) -> Iterator[Finding]:
    if "code" in project.definition:
        yield fine(UPLOAD, "agent.json says itself where the code is; it is checked when it is registered")
        return
    yield from _entry(project)
    try:
        code = code_of(project)
    except CannotUpload as error:
        yield wrong(UPLOAD, str(error))
    else:
        yield fine(UPLOAD, _shown(sorted(code.files) if code is not None else []))
    if _names_sdk(project.directory / "requirements.txt"):
        change = "take it out: what imports pipelines gets the SDK with the upload"
        yield doubt("requirements", "requirements.txt asks the sandbox to install the SDK", change)


def _shown(names: list[str]) -> str:
    own = [name for name in names if not name.startswith(f"{SDK}/")]
    more = f" and {len(own) - MOST_SHOWN} more" if len(own) > MOST_SHOWN else ""
    return ", ".join(own[:MOST_SHOWN]) + more + (" and the SDK" if len(own) < len(names) else "")


def _entry(project: Project) -> Iterator[Finding]:
    named = project.definition.get("entrypoint")
    file, _, function = (named if isinstance(named, str) else "").partition(":")
    file = file or next((name for name in USUAL_FILES if (project.directory / name).is_file()), "")
    function = function or USUAL_FUNCTION
    if not file:
        change = f'write an agent.py with {SIGNATURE} or name another file: "entrypoint": "file.py:run"'
        yield wrong(CODE, "there is nothing to call: no agent.py, main.py or run.py", change)
        return
    try:
        source = (project.directory / file).read_bytes()
    except OSError as error:
        yield wrong(CODE, f"{file}: {error.strerror or error}", "correct `entrypoint` in agent.json")
        return
    problems = entry_problems(source, file, function=function, place="")
    yield from listed(CODE, problems)
    if not problems:
        yield fine(CODE, f"{file} has a {function} that can be called")


def _names_sdk(path: Path) -> bool:
    if not path.is_file():
        return False
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(line.strip().startswith("pipelines-odyssey") for line in lines)
