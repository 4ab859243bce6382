"""A code endpoint as it can be asked: an org's own functions, discovered and called in their sandboxes.

The code is unpacked and its packages installed when it is first asked, and stay for as long as it is open.
Whatever comes out of a sandbox has the endpoint's secrets taken out before anybody sees it.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from pipelines.core.code.code_config import CodeConfig, read_code_config
from pipelines.core.code.code_functions import tools_of_functions
from pipelines.core.code.code_secrets import together_complaint
from pipelines.core.code.redaction import Redaction
from pipelines.core.limits.json_schema import CompiledSchema
from pipelines.core.text.json_text import Json, JsonObject, loads
from pipelines.core.text.problems import Refused
from pipelines.core.tools.live_tools import (
    LONGEST_HOP_S,
    DiscoveredTool,
    Discovery,
    LiveCallFailed,
    LiveReply,
)
from pipelines.engine.code.code_folders import unpack
from pipelines.engine.workspaces.code_mode import CodeMode, CodeSandboxes
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend, Resolver, system_resolver
from pipelines.outbound.egress_proxy import Allowance, EgressProxy
from pipelines.sandbox.environments import CannotPrepare
from pipelines.sandbox.function_box import FunctionAnswer, Program
from pipelines.sandbox.held_folders import HeldFolders
from pipelines.sandbox.job import CodeError, CodeErrorKind
from pipelines.sandbox.output import LEFT_OUT
from pipelines.wire.errors import CodeModeUnavailable

DISCOVERS_WITHIN_S = 30.0  # after the import, which has its own time
LONGEST_MESSAGE = 500  # an agent reads it; the trace has the rest
UNSAFE_NOTE = (
    "isolation: none. The function ran with the rights of the server (PIPELINES_UNSAFE_CODE): allow_hosts"
    " did not bind it."
)
_IMPORT_ERRORS = ("ModuleNotFoundError", "ImportError")
_SDK = Path(__file__).parent.parent.parent / "odyssey"
#: Read as text and sent inside; nothing of the SDK is loaded here.
_SDK_READERS = ("hint_schema", "doc_params")


def code_endpoint(
    *,
    config: JsonObject,
    secrets: Mapping[str, str],
    org_id: int,
    code_mode: CodeMode,
    policy: AddressPolicy,
    resolver: Resolver = system_resolver,
    longest_s: float = LONGEST_HOP_S,
) -> "CodeEndpoint":
    """`config` was accepted when the endpoint was made; `secrets` are the values of the credentials that its
    `env_vars` name, by the credentials' names."""
    return CodeEndpoint(
        config=config,
        secrets=secrets,
        org_id=org_id,
        code_mode=code_mode,
        backend=GuardedBackend(policy, resolver),
        longest_s=longest_s,
    )


class _ReadyCode:
    """What the first call made ready."""

    def __init__(
        self, opened: CodeSandboxes, config: CodeConfig, program: Program, proxy: EgressProxy
    ) -> None:
        self.opened = opened
        self.config = config
        self.program = program
        self.proxy = proxy


class CodeEndpoint:
    def __init__(
        self,
        *,
        config: JsonObject,
        secrets: Mapping[str, str],
        org_id: int,
        code_mode: CodeMode,
        backend: GuardedBackend,
        longest_s: float,
    ) -> None:
        self._config = config
        self._secrets = dict(secrets)
        self._org_id = org_id
        self._code_mode = code_mode
        self._backend = backend
        self._longest_s = longest_s
        self._hidden = Redaction({})
        self._held = AsyncExitStack()
        self._ready: asyncio.Task[_ReadyCode] | None = None
        self._schemas: dict[str, CompiledSchema] = {}

    async def discover(self) -> Discovery:
        ready = await self._get_ready()
        readers = await asyncio.to_thread(_read_sdk_readers)
        entries = ready.config.functions
        message: JsonObject = {
            "kind": "describe",
            "readers": readers,
            "functions": [entry.as_json() for entry in entries],
        }
        allowance = Allowance()
        answered = await self._ask(ready, message, allowance, DISCOVERS_WITHIN_S)
        notes = await asyncio.to_thread(self._notes, answered, allowance, ready)
        if answered.error is not None:
            raise LiveCallFailed(await self._error_message(answered.error, "the code"), notes=notes)
        found = await asyncio.to_thread(tools_of_functions, answered.value, entries)
        return Discovery(tools=found.tools, notes=(*found.notes, *notes))

    async def call(self, tool: DiscoveredTool, arguments: JsonObject) -> LiveReply:
        ready = await self._get_ready()
        await asyncio.to_thread(self._check_arguments, tool, arguments)  # both may be large
        message: JsonObject = {
            "kind": "call",
            "file": tool.call["file"],
            "function": tool.call["function"],
            "arguments": arguments,
        }
        allowance = Allowance()
        answered = await self._ask(ready, message, allowance, self._longest_s)
        if answered.error is not None:
            notes = await asyncio.to_thread(self._notes, answered, allowance, ready)
            raise LiveCallFailed(await self._error_message(answered.error, tool.name), notes=notes)
        if not self._secrets and not answered.stdout and not answered.stderr:
            return LiveReply(200, answered.value, self._notes(answered, allowance, ready))
        response, notes = await asyncio.to_thread(self._hide_secrets, answered, allowance, ready)
        return LiveReply(200, response, notes)

    async def close(self) -> None:
        ready, self._ready = self._ready, None
        if ready is not None:
            ready.cancel()
            done = (await asyncio.gather(ready, return_exceptions=True))[0]
            if isinstance(done, _ReadyCode):
                done.opened.functions.forget(done.program)
        await self._held.aclose()

    async def _ask(
        self, ready: _ReadyCode, message: JsonObject, allowance: Allowance, wall_s: float
    ) -> FunctionAnswer:
        serve = ready.proxy.for_call(allowance)
        return await ready.opened.functions.ask(ready.program, message, serve, wall_s=wall_s)

    def _check_arguments(self, tool: DiscoveredTool, arguments: JsonObject) -> None:
        schema = self._schemas.get(tool.fingerprint)
        if schema is None:
            schema = self._schemas[tool.fingerprint] = CompiledSchema(tool.input_schema)
        if not schema.accepts(arguments):
            problems = schema.problems(arguments)
            complaints = "; ".join(problem.said() for problem in problems[:3])[:LONGEST_MESSAGE]
            raise LiveCallFailed(
                f"{tool.name} was not called: the arguments do not fit its input schema: {complaints}"
            )

    async def _get_ready(self) -> _ReadyCode:
        """Once, for all who wait. What failed is tried again by the next: an index may be back."""
        if self._ready is None or (self._ready.done() and self._has_failed(self._ready)):
            self._ready = asyncio.create_task(self._make_ready())
        return await asyncio.shield(self._ready)

    @staticmethod
    def _has_failed(task: "asyncio.Task[_ReadyCode]") -> bool:
        return task.cancelled() or task.exception() is not None

    async def _make_ready(self) -> _ReadyCode:
        try:
            opened = await self._code_mode.opened()
            config = await asyncio.to_thread(read_code_config, self._config)
            env = self._variables(config)
            self._hidden = await asyncio.to_thread(Redaction, self._secrets)
            folder = self._held.enter_context(HeldFolders(self._code_mode.folder).held(config.hash))
            del folder
            place = self._code_mode.folder / config.hash
            if not await asyncio.to_thread(place.is_dir):
                await asyncio.to_thread(unpack, config.archive, place)
            environment = await self._held.enter_async_context(
                opened.environment_for("\n".join(config.requirements))
            )
        except CodeModeUnavailable as error:
            raise LiveCallFailed(f"the code cannot be run: {error.message}") from None
        except CannotPrepare as error:
            raise LiveCallFailed(f"the requirements cannot be installed: {error}") from None
        except Refused as refused:
            complaints = "; ".join(problem.said() for problem in refused.problems[:3])
            raise LiveCallFailed(
                f"the endpoint's config cannot be used: {complaints}"[:LONGEST_MESSAGE]
            ) from None
        proxy = EgressProxy(config.allow_hosts, self._backend)
        program = Program(
            org_id=self._org_id,
            source_dir=place,
            environment=environment,
            files=config.modules,
            env=env,
            import_serve=lambda: proxy.for_call(Allowance()),
        )
        return _ReadyCode(opened, config, program, proxy)

    def _variables(self, config: CodeConfig) -> dict[str, str]:
        missing = sorted(name for name in set(config.env_vars.values()) if name not in self._secrets)
        if missing:
            named = ", ".join(missing[:5])
            raise LiveCallFailed(f"the org has no credential {named}; set it with POST /api/credentials")
        if (complaint := together_complaint(self._secrets)) is not None:
            raise LiveCallFailed(f"the endpoint cannot be called: {complaint}")
        return {variable: self._secrets[name] for variable, name in config.env_vars.items()}

    def _hide_secrets(
        self, answered: FunctionAnswer, allowance: Allowance, ready: _ReadyCode
    ) -> tuple[Json, tuple[str, ...]]:
        response = answered.value
        if self._secrets:
            response = loads(self._hidden.json_bytes(json.dumps(response).encode()))
        return response, self._notes(answered, allowance, ready)

    def _notes(self, answered: FunctionAnswer, allowance: Allowance, ready: _ReadyCode) -> tuple[str, ...]:
        """For the trace: what was printed, refused and raised."""
        found = [UNSAFE_NOTE] if ready.opened.is_unsafe else []
        if answered.error is not None and answered.error.traceback:
            found.append(answered.error.traceback.rstrip())
        found += [f"{name}: {text.rstrip()}" for name, text in _outputs(answered) if text.strip()]
        found += allowance.notes
        return tuple(self._hidden.cut_text(note, LEFT_OUT) for note in found)

    async def _error_message(self, error: CodeError, name: str) -> str:
        hidden = await asyncio.to_thread(self._hidden.cut_text, _describe_error(error, name), LEFT_OUT)
        return hidden if len(hidden) <= LONGEST_MESSAGE else f"{hidden[:LONGEST_MESSAGE]}…"


def _outputs(answered: FunctionAnswer) -> tuple[tuple[str, str], ...]:
    return ("stdout", answered.stdout), ("stderr", answered.stderr)


def _describe_error(error: CodeError, name: str) -> str:
    match error.kind:
        case CodeErrorKind.EXCEPTION:
            missing = "; is its package in requirements?" if error.exception in _IMPORT_ERRORS else ""
            return f"{name} raised {error.exception or 'an exception'}: {error.message}{missing}"
        case CodeErrorKind.TIMEOUT:
            return f"{name} did not return in time: {error.message}"
        case CodeErrorKind.BAD_RESULT | CodeErrorKind.TOO_LARGE:
            return f"{name} gave no usable result: {error.message}"
    return f"{name} ended without a result: {error.message}"


def _read_sdk_readers() -> JsonObject:
    return {name: (_SDK / f"{name}.py").read_text("utf-8") for name in _SDK_READERS}
