"""Workspaces made ready on this node: fetched, set up and committed once for all runs of equal scenarios.

What a setup command leaves is kept as two archives that nothing on the host unpacks: each sandbox unpacks
them for itself, into memory, until there is a folder to share (`share_workspaces`). Why: docs/decisions/0037.
"""

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from pipelines.core.code.allowed_hosts import read_allow_hosts
from pipelines.core.coding.scenario import ArchiveSeed, CodingScenario, FilesSeed, GitSeed
from pipelines.core.limits.fair_slots import SlotHolder
from pipelines.core.text.json_text import JsonObject, canonical
from pipelines.core.text.problems import Refused
from pipelines.engine.workspaces.code_mode import CodeMode, CodeSandboxes
from pipelines.engine.workspaces.share_workspaces import SharedWorkspaces, Sharing, WorkspaceLimits
from pipelines.outbound.address_guard import GuardedBackend
from pipelines.outbound.egress_proxy import Allowance, EgressProxy
from pipelines.outbound.fetch_git import GitFetcher, TreeLimits
from pipelines.sandbox import recipe
from pipelines.sandbox.environments import CannotPrepare
from pipelines.sandbox.function_box import proxy_variables
from pipelines.sandbox.held_folders import HeldFolders, new_folder
from pipelines.sandbox.shared_trees import SHARED, CannotShare
from pipelines.sandbox.workspace_box import BoxFailed, WorkspaceBox, layout_of, open_box
from pipelines.wire.errors import CodeModeUnavailable

FORMAT = 1  # of what is kept: another one is another key
SEED_FILE = "seed"
FACTS = "facts.json"
MOST_OUTPUT = 64 * 1024
COMMITS_KNOWN_S = 60.0  # for how long a branch is taken to be where it was
FAILED_FOR_S = 60.0  # a setup that failed is not tried again for each run of a batch


class WorkspaceFailed(Exception):
    """There is no workspace; the message says why, `output` is what the setup command printed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadyWorkspace:
    """A workspace that can be unpacked, and what its commands need."""

    folder: Path
    dependencies: Path | None
    facts: JsonObject  # commit, tree, files, bytes, source_commit, setup_output; notes, if there are some
    opened: CodeSandboxes
    empty: Path  # a folder without anything, for sandboxes without an agent
    shared: Path | None = None  # the workspace as a folder below each run's own; None: in the archives

    def variables(self, scenario: CodingScenario, *, path: str = "") -> dict[str, str]:
        return workspace_variables(scenario, self.opened, self.dependencies, path=path)


class Workspaces:
    """`directory` is this node's own; what no run uses is removed from it (`sandbox/prune_folders`)."""

    def __init__(
        self,
        code_mode: CodeMode,
        *,
        git: GitFetcher,
        network: GuardedBackend,
        directory: Path,
        limits: WorkspaceLimits | None = None,
        sharing: Sharing = "auto",
    ) -> None:
        self._code_mode = code_mode
        self._git = git
        self._network = network
        self._directory = directory
        self.limits = limits or WorkspaceLimits()
        self._sharing = SharedWorkspaces(directory, self.limits, sharing)
        self._folders = HeldFolders(directory)
        self._making: dict[str, asyncio.Task[None]] = {}
        self._commits: dict[tuple[str, str], tuple[float, str]] = {}
        self._failed: dict[str, tuple[float, WorkspaceFailed]] = {}

    @asynccontextmanager
    async def held(self, scenario: CodingScenario, org_id: int) -> AsyncIterator[ReadyWorkspace]:
        """The scenario's workspace, kept from being removed. Raises CannotMake, CodeModeUnavailable."""
        opened = await self._code_mode.opened()
        if opened.is_unsafe:
            raise WorkspaceFailed("coding tasks need an isolated sandbox, and this server has none")
        async with AsyncExitStack() as stack:
            try:
                requirements = scenario.all_requirements
                dependencies = await stack.enter_async_context(opened.environment_for(requirements))
                commit = await self._commit(scenario)
            except CannotPrepare as error:
                raise WorkspaceFailed(f"the scenario's requirements cannot be installed: {error}") from None
            except Refused as refused:
                raise WorkspaceFailed(_refusal_text(refused)) from None
            key = _key(scenario, org_id, commit, dependencies)
            stack.enter_context(self._folders.held(key))
            folder = self._directory / key
            if not await asyncio.to_thread(folder.is_dir):
                await self._make_once(key, scenario, opened, dependencies, commit, SlotHolder(org_id))
            shared = await self._shared(opened, key, SlotHolder(org_id))
            facts = await asyncio.to_thread((folder / FACTS).read_bytes)
            yield ReadyWorkspace(
                folder=shared or folder,
                dependencies=dependencies,
                facts=json.loads(facts),
                opened=opened,
                empty=await asyncio.to_thread(self._empty_folder),
                shared=shared / SHARED if shared is not None else None,
            )

    async def describe(self) -> str | None:
        """For people: how runs have their workspaces here, and why not otherwise. None: they have none."""
        try:
            return await self._sharing.describe(await self._code_mode.opened())
        except CodeModeUnavailable:
            return None

    async def _commit(self, scenario: CodingScenario) -> str | None:
        seed = scenario.workspace_seed
        if not isinstance(seed, GitSeed):
            return None
        reference = (seed.url, seed.ref)
        known = self._commits.get(reference)
        if known is None or monotonic() - known[0] > COMMITS_KNOWN_S:
            known = (monotonic(), await self._git.commit_of(seed.url, seed.ref))
            self._commits[reference] = known
            while len(self._commits) > 1_000:
                self._commits.pop(next(iter(self._commits)))
        return known[1]

    async def _shared(self, opened: CodeSandboxes, key: str, place: SlotHolder) -> Path | None:
        try:
            return await self._sharing.folder_of(opened, key, place, self._folders.held)
        except (BoxFailed, CannotShare) as error:
            raise WorkspaceFailed(f"the workspace cannot be shared: {error}") from None

    async def close(self) -> None:
        await self._sharing.close()

    async def _make_once(
        self,
        key: str,
        scenario: CodingScenario,
        opened: CodeSandboxes,
        dependencies: Path | None,
        commit: str | None,
        place: SlotHolder,
    ) -> None:
        """Once, for all who wait."""
        failed = self._failed.get(key)
        if failed is not None and monotonic() - failed[0] < FAILED_FOR_S:
            raise failed[1]
        making = self._making.get(key)
        if making is None:
            making = asyncio.create_task(self._make(key, scenario, opened, dependencies, commit, place))
            self._making[key] = making
            making.add_done_callback(lambda _: self._making.pop(key, None))
        try:
            await asyncio.shield(making)
        except WorkspaceFailed as error:
            self._failed[key] = (monotonic(), error)
            while len(self._failed) > 1_000:
                self._failed.pop(next(iter(self._failed)))
            raise

    async def _make(
        self,
        key: str,
        scenario: CodingScenario,
        opened: CodeSandboxes,
        dependencies: Path | None,
        commit: str | None,
        place: SlotHolder,
    ) -> None:
        with new_folder(self._directory) as given, new_folder(self._directory) as source:
            for folder in (given, source):
                folder.chmod(0o755)  # a dropped uid must be able to read it; the data directory hides it
            try:
                archive, notes = await self._fetch_seed(scenario, commit, given)
            except Refused as refused:
                raise WorkspaceFailed(_refusal_text(refused)) from None
            layout = layout_of(
                given=given,
                dependencies=dependencies,
                workspace_bytes=self.limits.bytes,
                source_dir=await asyncio.to_thread(self._empty_folder),
                workdir=scenario.workdir,
            )
            try:
                async with open_box(opened.pool, layout, place=place, is_single=True) as box:
                    facts = await self._set_up(box, scenario, opened, dependencies, archive)
                    await box.save_archives(source, most_bytes=self.limits.bytes)
            except BoxFailed as error:
                raise WorkspaceFailed(f"the workspace cannot be made: {error}") from None
            facts |= {"source_commit": commit} | ({"notes": notes} if notes else {})
            (source / FACTS).write_text(json.dumps(facts))
            for file in source.iterdir():
                file.chmod(0o644)
            with suppress(OSError):  # not empty: another process was faster
                source.rename(self._directory / key)

    async def _fetch_seed(
        self, scenario: CodingScenario, commit: str | None, given: Path
    ) -> tuple[str | None, list[str]]:
        """The name of the archive that the workspace is unpacked from, None where it has none; and what of
        the repository is not in it."""
        seed = scenario.workspace_seed
        target = given / SEED_FILE
        notes: list[str] = []
        if isinstance(seed, GitSeed):
            assert commit is not None
            limits = TreeLimits(self.limits.files, self.limits.bytes)
            notes = await self._git.archive(seed.url, commit, target, limits)
        elif isinstance(seed, ArchiveSeed):
            await asyncio.to_thread(target.write_bytes, base64.b64decode(seed.data))
        else:
            return None, []
        target.chmod(0o644)
        return SEED_FILE, notes

    async def _set_up(
        self,
        box: WorkspaceBox,
        scenario: CodingScenario,
        opened: CodeSandboxes,
        dependencies: Path | None,
        archive: str | None,
    ) -> dict[str, Any]:
        seed = scenario.workspace_seed
        await box.make_seed(archive=archive, files=seed.files if isinstance(seed, FilesSeed) else {})
        output = ""
        if scenario.setup_command is not None:
            output = await self._run_setup(box, scenario, opened, dependencies)
        facts = await box.make_baseline(most_files=self.limits.files)
        return facts | {"setup_output": output}

    async def _run_setup(
        self, box: WorkspaceBox, scenario: CodingScenario, opened: CodeSandboxes, dependencies: Path | None
    ) -> str:
        assert scenario.setup_command is not None
        allowance = Allowance(bytes_left=4 * self.limits.bytes, connections_left=10_000)
        env = workspace_variables(scenario, opened, dependencies)
        proxy = EgressProxy(read_allow_hosts(scenario.network, "", []), self._network)
        if scenario.network:
            env |= proxy_variables(box.port)
        ran = await box.run(
            ["/bin/sh", "-c", scenario.setup_command],
            env=env,
            timeout_s=float(scenario.timeouts.setup_s),
            output_bytes=MOST_OUTPUT,
            serve=proxy.for_call(allowance),
        )
        output = "\n".join([ran.output, *allowance.notes])
        if ran.timed_out:
            message = f"the setup command did not finish within {scenario.timeouts.setup_s} s"
            raise WorkspaceFailed(message, output)
        if ran.code != 0:
            last = ran.output.strip()[-500:]
            last_output = f"; it said: {last}" if last else ""
            raise WorkspaceFailed(f"the setup command ended with {ran.code}{last_output}", output)
        return output

    def _empty_folder(self) -> Path:
        """Of the directory, but nothing that pruning would take for a workspace."""
        empty = self._directory / ".empty"
        if not empty.is_dir():  # touched again, it would be another one to the sandboxes that wait
            empty.mkdir(parents=True, exist_ok=True)
            empty.chmod(0o755)
        return empty


def workspace_variables(
    scenario: CodingScenario, opened: CodeSandboxes, dependencies: Path | None, *, path: str = ""
) -> dict[str, str]:
    """Of setup, agent and scorers alike, so that what one of them builds the next can run."""
    python = opened.pool.python
    packages = f"{recipe.DEPENDENCIES}/lib/python{python.version}/site-packages"
    own = [f"{recipe.DEPENDENCIES}/bin", f"{packages}/bin"] if dependencies is not None else []
    places = [*own, *([path] if path else []), str(python.executable.parent), *recipe.PATH.split(":")]
    modules = [scenario.env_vars.get("PYTHONPATH"), packages if dependencies is not None else None]
    given = {name: text for name, text in scenario.env_vars.items() if name != "PYTHONPATH"}
    found = {
        "HOME": recipe.JOB_FOLDER,
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "USER": "agent",
        "LOGNAME": "agent",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
        **given,
        "PATH": ":".join(dict.fromkeys(places)),
    }
    python_path = ":".join(one for one in modules if one)
    return found | ({"PYTHONPATH": python_path} if python_path else {})


def _key(scenario: CodingScenario, org_id: int, commit: str | None, dependencies: Path | None) -> str:
    """Of everything that what is kept depends on."""
    start = scenario.workspace_seed.as_json()
    if commit is not None:  # whatever it was called
        start = {key: value for key, value in start.items() if key != "ref"} | {"commit": commit}
    whole: Mapping[str, Any] = {
        "format": FORMAT,
        "org": org_id,
        "seed": start,
        "setup": scenario.setup_command,
        "workdir": scenario.workdir if scenario.setup_command is not None else None,
        "dependencies": dependencies.name if dependencies is not None else None,
        "env": dict(scenario.env_vars) if scenario.setup_command is not None else {},
        "network": list(scenario.network),
    }
    return hashlib.sha256(canonical(whole)).hexdigest()[:40]


def _refusal_text(refused: Refused) -> str:
    return "; ".join(problem.message for problem in refused.problems[:3])
