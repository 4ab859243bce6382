"""Taking a task of another range: it is stored only if it is proved.

With the reference solution its scorers must pass, without a change they must not. A task that passes anyway,
or not even by its own solution, would say nothing of any agent.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from pipelines.core.coding.diff import BadDiff, WorkspaceDiff, parse_diff, patch_of
from pipelines.core.coding.grading import Grading
from pipelines.core.coding.patch_paths import changed_paths
from pipelines.core.coding.read_scorers import LONGEST_COMMAND, read_flag
from pipelines.core.coding.scenario import CodingScenario, read_scenario
from pipelines.core.coding.workspace_seed import read_texts
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.authored import Fields, as_object
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem, Refused
from pipelines.engine.coding.edit_coding_scenarios import (
    check_scenario,
    create_scenario,
    find_scenario,
    replace_scenario,
)
from pipelines.engine.coding.score_workspace import grade
from pipelines.engine.platform import Platform
from pipelines.engine.workspaces.prepare_workspace import ReadyWorkspace, WorkspaceFailed
from pipelines.sandbox.workspace_box import BoxFailed, Changes, WorkspaceBox, layout_of, open_box
from pipelines.storage.tasks.coding import StoredCodingScenario
from pipelines.wire.errors import Conflict, NotFound
from pipelines.wire.records import Hidden, Record

SOLUTION = "/solution"
LONGEST_PATCH = 4 * 1024 * 1024
REFERENCE_S = 900.0
MOST_OUTPUT = 16 * 1024
SHOWN_OUTPUT = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """A request to take a task, as it was read."""

    scenario: CodingScenario
    patch: str | None
    command: str | None
    files: Mapping[str, str]
    test_patch: str | None
    replaces: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof(Record):
    scenario: Hidden[CodingScenario]  # with the files that its test patch makes
    reasons: Hidden[tuple[str, ...]]  # why it proves nothing; empty where it does
    reference: Grading | None = None
    unchanged: Grading | None = None


class _ProofFailed(Exception):
    """Why a task proves nothing."""


def read_import(value: Json, *, allow_http: bool = False) -> Import:
    """Refused with everything that is wrong with it."""
    problems: list[Problem] = []
    body = as_object(value, "", problems, "an import") or {}
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("scenario", "reference", "test_patch", "replace"))
    fields.require("scenario", "as POST /api/coding-scenarios takes it")
    fields.require("reference", 'what solves it: {"patch": "…"} or {"command": "…", "files": {…}}')
    scenario = read_scenario(fields.get("scenario"), problems, path="/scenario", allow_http=allow_http)
    reference = as_object(fields.get("reference"), "/reference", problems, "`reference`") or {}
    reference_fields = Fields(reference, "/reference", problems)
    reference_fields.refuse_unknown(("patch", "command", "files"))
    if reference_fields.has("patch") == reference_fields.has("command"):
        reference_fields.refuse("patch", "a reference is either a `patch` or a `command`")
    read = Import(
        scenario=scenario or CodingScenario(name="", user_instruction=""),
        patch=reference_fields.text("patch", longest=LONGEST_PATCH),
        command=reference_fields.text("command", longest=LONGEST_COMMAND),
        files=read_texts(reference_fields, "files", also_below=SOLUTION)
        if reference_fields.has("files")
        else {},
        test_patch=fields.text("test_patch", longest=LONGEST_PATCH),
        replaces=read_flag(fields, "replace", default=False),
    )
    if problems:
        raise Refused(problems, "the import")
    return read


async def prove(platform: Platform, org_id: int, asked: Import) -> Proof:
    """Nothing is stored here."""
    scenario = asked.scenario
    try:
        if asked.test_patch is not None:
            files = await _test_files(platform, org_id, scenario, asked.test_patch)
            scenario = replace(scenario, test_files={**files, **scenario.test_files})
        diff, report = await _reference(platform, org_id, scenario, asked)
    except _ProofFailed as error:
        return Proof(scenario=scenario, reasons=(str(error),))
    reference = await grade(platform, org_id=org_id, scenario=scenario, diff=diff)
    unchanged = await grade(platform, org_id=org_id, scenario=scenario, diff=patch_of(""))
    reasons = [*_reference_reasons(reference, report), *_unchanged_reasons(unchanged)]
    return Proof(scenario=scenario, reasons=tuple(reasons), reference=reference, unchanged=unchanged)


def _reference_reasons(grading: Grading, said: str) -> list[str]:
    if grading.combined.passed:
        return []
    words = [_last_words(result.output) for result in grading.results if not result.passed]
    reason = f"The reference solution does not pass. {grading.combined.reason}{next(filter(None, words), '')}"
    return [f"{reason} {said}".strip()]


def _unchanged_reasons(grading: Grading) -> list[str]:
    if grading.combined.passed is False:
        return []
    if grading.combined.passed:
        return ["The scenario passes without a change."]
    return [f"Without a change, the scenario cannot be judged. {grading.combined.reason}"]


def _last_words(output: str) -> str:
    words = output.strip()[-SHOWN_OUTPUT:]
    return f" It printed: {words}" if words else ""


async def _test_files(
    platform: Platform, org_id: int, scenario: CodingScenario, test_patch: str
) -> dict[str, str]:
    """The files of a test patch as they are after it, where the repository is."""
    paths = changed_paths(test_patch)
    if not paths:
        raise _ProofFailed("The test patch changes no file.")
    async with _opened(platform, org_id, scenario) as (_, box):
        most = platform.workspaces.limits.diff_bytes
        found = await box.apply(test_patch.encode(), read=paths, most_bytes=most)
    if not isinstance(found, Changes):
        raise _ProofFailed(f"The test patch cannot be applied: {found}")
    contents = found.contents or {}
    files = {path: text for path in paths if (text := contents.get(path)) is not None}
    if any("\0" in text or not _is_text(text) for text in files.values()):
        raise _ProofFailed("The test patch contains files that are not text.")
    return files


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True


async def _reference(
    platform: Platform, org_id: int, scenario: CodingScenario, asked: Import
) -> tuple[WorkspaceDiff, str]:
    """What it changes, and how it ended where that was not well: what it did until then may be enough, and
    the graders say whether it is."""
    if asked.command is None:
        return patch_of(asked.patch or ""), ""
    most = platform.workspaces.limits.diff_bytes
    async with _opened(platform, org_id, scenario) as (ready, box):
        await box.restore(paths=(), settings=(), files=asked.files)
        command = ["/bin/sh", "-c", asked.command]
        env = ready.variables(scenario)
        ran = await box.run(command, env=env, timeout_s=REFERENCE_S, output_bytes=MOST_OUTPUT)
        if ran.timed_out:
            raise _ProofFailed(f"The reference command did not finish in time.{_last_words(ran.output)}")
        report = (
            f"The reference command ended with exit code {ran.code}.{_last_words(ran.output)}"
            if ran.code
            else ""
        )
        changes = await box.collect(most_bytes=most)
    try:
        diff = parse_diff(changes.raw, changes.patch, changes.ignored)
    except BadDiff as error:
        raise _ProofFailed(f"The changes of the reference cannot be read: {error}") from None
    if changes.truncated:
        raise _ProofFailed(f"The reference changes more than {most:,} bytes.")
    return diff, report


@asynccontextmanager
async def _opened(
    platform: Platform, org_id: int, scenario: CodingScenario
) -> AsyncIterator[tuple[ReadyWorkspace, WorkspaceBox]]:
    """A fresh workspace in a sandbox of its own, with a folder for the reference."""
    try:
        async with platform.workspaces.held(scenario, org_id) as ready:
            layout = layout_of(
                given=ready.folder,
                shared=ready.shared,
                dependencies=ready.dependencies,
                workspace_bytes=platform.workspaces.limits.bytes,
                source_dir=ready.empty,
                workdir=scenario.workdir,
                folders=(SOLUTION,),
            )
            async with open_box(ready.opened.pool, layout, place=SlotHolder(org_id), is_single=True) as box:
                await box.unpack()
                yield ready, box
    except WorkspaceFailed as error:
        raise _ProofFailed(f"There is no workspace: {error}") from None
    except BoxFailed as error:
        raise _ProofFailed(f"The workspace failed: {error}") from None


async def import_scenario(platform: Platform, org_id: int, body: Json) -> JsonObject:
    """Prove it and store it; what is not proved is told with the reasons, and not stored."""
    request = await asyncio.to_thread(partial(read_import, body, allow_http=platform.git.allow_http))
    known = await _known(platform, org_id, request)
    await check_scenario(platform, request.scenario.as_json())
    proof = await prove(platform, org_id, request)
    answer: JsonObject = {"name": proof.scenario.name, "refused": [*proof.reasons], "proof": proof.as_json()}
    if proof.reasons:
        return {"id": None, **answer}
    whole = proof.scenario.as_json()
    stored = (
        await replace_scenario(platform, org_id, known.scenario_id, whole)
        if known is not None
        else await create_scenario(platform, org_id, whole)
    )
    return {"id": stored.scenario_id, **answer}


async def _known(platform: Platform, org_id: int, asked: Import) -> StoredCodingScenario | None:
    """The scenario that it replaces. Asked before the proof, which may take minutes."""
    try:
        known = await find_scenario(platform, org_id, asked.scenario.name)
    except NotFound:
        return None
    if not asked.replaces:
        raise Conflict(f"There is a coding scenario `{asked.scenario.name}` already; `replace` changes it.")
    return known
