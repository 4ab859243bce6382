"""Builds the server: storage, platform, proxy and API as one ASGI application."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from pipelines import __version__
from pipelines.core.agents.agent_response_schema import RESPONSE_SCHEMA
from pipelines.core.simulation.by_model.model_call import ModelCall
from pipelines.core.tasks.seed_session import ROWS_GENERATING
from pipelines.core.tools.live_tools import LiveCall
from pipelines.engine.batches.check_budget import BudgetEnforcer
from pipelines.engine.batches.open_batch import read_batch
from pipelines.engine.batches.run_batch import BatchRunner
from pipelines.engine.calls.answer_tool_call import ToolCallAnswerer
from pipelines.engine.calls.live_hops import LiveHops
from pipelines.engine.code.code_folders import CodeFolders
from pipelines.engine.code.run_code import CodeRunner
from pipelines.engine.evals.score_matrix import MatrixReports
from pipelines.engine.evals.show_matrix import MatrixViews
from pipelines.engine.evals.start_matrix import progress_of_batch
from pipelines.engine.judging.judge_by_model import claim_judgements, run_judgement
from pipelines.engine.live.cassettes import Cassettes
from pipelines.engine.live.live_runs import LiveRuns
from pipelines.engine.live.plan_readers import PlanReaders
from pipelines.engine.live.question_runner import QuestionRunner
from pipelines.engine.model_calls.ask_models import Models
from pipelines.engine.model_calls.model_clients import ModelSettings, OpenedModels, Transports
from pipelines.engine.model_calls.model_gateway import ModelGateway, ModelLimits
from pipelines.engine.model_calls.model_secrets import ModelSecrets
from pipelines.engine.models.ask_model_for_reply import ModelReplies
from pipelines.engine.platform import Platform, WallClock
from pipelines.engine.reports.summarize_batch import batch_figures
from pipelines.engine.runs.dispatch_run import Dispatcher
from pipelines.engine.worlds.generate_rows import RowGenerator
from pipelines.engine.worlds.open_session import read_session
from pipelines.outbound.address_guard import AddressPolicy, GuardedBackend
from pipelines.outbound.agent_client import AgentClient
from pipelines.outbound.fetch_git import GitFetcher
from pipelines.outbound.model_transport import ModelTransport
from pipelines.outbound.stream_once import ModelClient
from pipelines.processes.pool import HelperProcesses
from pipelines.server import errors, openapi
from pipelines.server.api import (
    agents,
    annotations,
    batches,
    cassettes,
    coding_imports,
    coding_scenarios,
    credentials,
    dataset_rules,
    datasets,
    keys,
    models,
    run_imports,
    run_oracles,
    runs,
    seed_sessions,
    sign_in_links,
    tasks,
    tool_endpoints,
    whoami,
)
from pipelines.server.api.common import ANY_KEY, Ours, Viewer, answer
from pipelines.server.api.evals import (
    eval_drafts,
    eval_matrix,
    eval_reports,
    eval_reviews,
    eval_runs,
    eval_scenarios,
    judges,
    telemetry,
)
from pipelines.server.config.settings import Settings
from pipelines.server.http.access_log import logged
from pipelines.server.http.open_connections import OpenConnections, open_files
from pipelines.server.oidc import oidc_of
from pipelines.server.pages.app import build_pages, first_part, is_page, looks_for_page
from pipelines.server.pages.batches.batch_fragment import LOOKED_EVERY_S, BatchFragment
from pipelines.server.pages.worlds.session_fragment import session_fragment
from pipelines.server.proxy.proxy import Proxy, Receive, Scope, Send
from pipelines.server.proxy.sandbox_connection import RunDoor
from pipelines.server.proxy.sandbox_models import ModelDoor
from pipelines.server.service import broken_files, sandboxes
from pipelines.server.service.batch_watches import BatchWatches
from pipelines.server.service.database_files import DatabaseFiles
from pipelines.server.service.fill_task_keys import TaskNaming
from pipelines.server.service.first_start import SECRET_FILE
from pipelines.server.service.housekeeping import Housekeeping
from pipelines.server.service.live_endpoints import endpoint_makers
from pipelines.server.service.loop_lag import LoopLag
from pipelines.server.service.metrics import CONTENT_TYPE, Metrics
from pipelines.server.service.readiness import Health, Readiness
from pipelines.server.service.review_watch import ReviewWatch
from pipelines.server.tokens import tokens_of
from pipelines.storage.database.database import Database
from pipelines.storage.database.secret_box import SecretBox, load_or_make_key
from pipelines.wire.names import PROXY_BASE

# With the default of 5 ms the writer thread waits that long for its turn whenever the loop is busy;
# measured at 32 connections, half a millisecond serves a third more calls.
SWITCH_INTERVAL_S = 0.0005
SPAN_PROCESSES = 3  # one org gets at most all but one of them
MEBIBYTE = 1024 * 1024
UPLOAD_MEMORY_BYTES = 1536 * MEBIBYTE  # what the report of a large matrix takes; uploads have half of it
_PROXY_PATHS = f"{PROXY_BASE}/"
MODULES = (
    *(
        agents,
        datasets,
        tasks,
        dataset_rules,
        seed_sessions,
        runs,
        annotations,
        run_imports,
        run_oracles,
        batches,
    ),
    *(cassettes, credentials, keys, tool_endpoints, eval_scenarios, eval_runs, eval_matrix, eval_reports),
    *(eval_reviews, judges, eval_drafts, telemetry, whoami, sign_in_links, models),
    *(coding_scenarios, coding_imports),
)


class App:
    """The ASGI application. Tool calls go to the proxy directly, without passing through FastAPI."""

    proxy: Proxy  # set when the application starts

    def __init__(self, settings: Settings, *, own_url: str = "", is_worker: bool = False) -> None:
        """`own_url` is where agents reach this process when no public URL is set. Refused where the settings
        name a cgroup that cannot be used."""
        self.groups = sandboxes.groups_of(settings)
        self.own_url = settings.public_url.rstrip("/") or own_url
        self.is_worker = is_worker
        self.api = _build_api(settings, self)
        self.pages = build_pages(self.api.state)
        self._api_roots = frozenset(first_part(getattr(route, "path", "/")) for route in self.api.routes)
        self.logs_requests = settings.logs_requests
        self.open_connections = OpenConnections(settings.connection_limits(open_files()))
        self._answer = logged(self._route) if self.logs_requests else self._route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_PROXY_PATHS):
            await self.proxy(scope, receive, send)
        elif scope["type"] == "http" and (is_page(scope["path"]) or self._is_unknown_page(scope)):
            await self.pages(scope, receive, send)
        else:
            await self.api(scope, receive, send)

    def _is_unknown_page(self, scope: Scope) -> bool:
        return looks_for_page(scope) and first_part(scope["path"]) not in self._api_roots

    def give_up_asking(self) -> None:
        """Answers tool calls that wait for an external reply, because the server stops."""
        self.proxy.give_up_asking()


@asynccontextmanager
async def _opened(settings: Settings, whole: App) -> AsyncIterator[dict[str, object]]:
    """Opens everything that lives as long as the application, by the name in its state."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    is_queue_new = not settings.is_shared and broken_files.is_queue_new(settings.durable_file)
    database = Database(settings.store())
    policy = AddressPolicy(allow_private=settings.allows_private_endpoints)
    helpers, upload_helpers = HelperProcesses(), HelperProcesses(memory_bytes=UPLOAD_MEMORY_BYTES)
    span_helpers = HelperProcesses(processes=SPAN_PROCESSES)
    client = AgentClient(policy, helpers)
    code_mode = sandboxes.code_mode(settings, whole.groups)
    git = GitFetcher(GuardedBackend(policy), allow_http=settings.allows_private_endpoints)
    commands = sandboxes.mcp_commands(settings, whole.groups)
    secret_key = load_or_make_key(settings.data_dir / SECRET_FILE, settings.secret_key)
    secrets = SecretBox(secret_key)
    now, worker = WallClock(), settings.worker_id()
    plan_readers = PlanReaders()
    asking = _models(settings, database, secrets, policy, now)
    live_runs = LiveRuns(
        database,
        now=now,
        node=worker,
        plan_readers=plan_readers,
        simulator_models=asking,
        most_bytes=settings.live_runs_mb * MEBIBYTE,
    )
    recordings = Cassettes(database, now=now, most_held=settings.cassettes_mb * MEBIBYTE)
    platform = Platform(
        database=database,
        secrets=secrets,
        live_runs=live_runs,
        cassettes=recordings,
        now=now,
        manual_run_ttl_s=settings.manual_run_ttl_s,
        endpoint_refusal=client.refusal,
        git=git,
        code_mode=code_mode,
        workspaces=sandboxes.workspaces(settings, code_mode, git, GuardedBackend(policy)),
        plan_readers=plan_readers,
        helpers=helpers,
        upload_helpers=upload_helpers,
        span_helpers=span_helpers,
        endpoint_makers=endpoint_makers(
            policy=policy, helpers=upload_helpers, code_mode=code_mode, commands=commands
        ),
        model_gateway=_model_gateway(settings),
        models=asking,
        limits=settings.limits,
    )
    live_hops = LiveHops(platform)
    answerer = ToolCallAnswerer(
        database=database,
        live_runs=live_runs,
        now=now,
        question_runner=QuestionRunner({LiveCall: live_hops.answer, ModelCall: ModelReplies(asking).answer}),
        node=worker,
    )
    whole.proxy = Proxy(platform, answerer, rate_limit=settings.calls_a_minute)
    folders = CodeFolders(platform, sandboxes.code_folder(settings))
    model_door = ModelDoor(ModelClient(GuardedBackend(policy)))
    code_runner = CodeRunner(platform, folders=folders, door=RunDoor(whole.proxy, model_door, helpers))
    dispatcher = Dispatcher(platform, client, whole.own_url, code_runner)
    reports = MatrixReports(platform)
    runner = BatchRunner(
        platform,
        worker=worker,
        database_url=settings.durable_url,
        silent_s=settings.worker_silent_s,
        is_shared=settings.is_shared,
        dispatch_run=dispatcher.dispatch_run,
        on_end=reports.batch_ended,
    )
    budget_ends = BudgetEnforcer(platform, runner)
    platform.models.on_used_up = budget_ends.used_up
    readiness = Readiness(database, folders=_written_folders(settings), problem=lambda: runner.queue_problem)
    await runner.start(listen=whole.is_worker, is_queue_new=is_queue_new)
    await platform.judge_tasks.open(
        worker=worker,
        judge=partial(run_judgement, platform, lambda batch_id: runner.on_end(batch_id)),
        take=partial(claim_judgements, platform, lambda batch_id: runner.on_end(batch_id)),
    )
    await reports.start()
    row_generator = RowGenerator(platform)
    await row_generator.start()
    lag = LoopLag()
    housekeeping = Housekeeping(settings, database)
    review_watch = ReviewWatch(platform, runner)
    task_naming = TaskNaming(platform)
    files = None if settings.is_shared else DatabaseFiles(database, settings.database_path)
    try:
        yield {
            "platform": platform,
            "agent_client": client,
            "live_hops": live_hops,
            "tokens": tokens_of(settings, database, secret_key, policy),
            "oidc": oidc_of(settings, secret_key, policy),
            "runner": runner,
            "code_runner": code_runner,
            "metrics": Metrics(settings, platform, whole.proxy.tally, lag, whole.open_connections),
            "readiness": readiness,
            "review_watch": review_watch,
            "watches": BatchWatches(partial(read_batch, platform)),
            "batch_page_watches": BatchWatches(
                partial(batch_figures, platform), LOOKED_EVERY_S, BatchFragment(platform.now)
            ),
            "matrix_watches": BatchWatches(partial(progress_of_batch, platform)),
            "row_generator": row_generator,
            "session_watches": BatchWatches(partial(read_session, platform), goes_on=ROWS_GENERATING),
            "session_page_watches": BatchWatches(
                partial(read_session, platform), LOOKED_EVERY_S, session_fragment, goes_on=ROWS_GENERATING
            ),
            "matrix_reports": reports,
            "matrix_views": MatrixViews(platform, reports),
        }
    finally:
        lag.close()
        if files is not None:
            await files.close()
        await housekeeping.close()
        await review_watch.close()
        await task_naming.close()
        await readiness.close()
        await budget_ends.close()
        await runner.stop()
        await platform.judge_tasks.close()
        await platform.author_tasks.close()
        await row_generator.close()
        await reports.close()
        await answerer.close()
        await live_hops.close()
        await recordings.close()
        await platform.models.close()
        await platform.workspaces.close()
        await code_mode.close()
        if commands is not None:
            await commands.close()
        plan_readers.close()
        await helpers.close()
        await upload_helpers.close()
        await span_helpers.close()
        await database.close()


def _written_folders(settings: Settings) -> list[Path]:
    folders = [settings.data_dir.resolve()]
    return folders if settings.is_shared else [*folders, settings.database_path.resolve().parent]


def _models(
    settings: Settings, database: Database, secrets: SecretBox, policy: AddressPolicy, now: WallClock
) -> Models:
    """The operator may name models on private addresses. For orgs, the outbound policy decides."""
    names = settings.model_names
    model_settings = ModelSettings(
        names=frozenset(names.values()),
        keys=settings.model_keys,
        allows_private=settings.allows_private_endpoints,
        at_once=settings.asks_at_once,
        timeout_s=float(settings.ask_timeout_s),
    )
    transports = Transports(
        own=ModelTransport(AddressPolicy(allow_private=True)), guarded=ModelTransport(policy)
    )
    clients = OpenedModels(database, secrets, model_settings, transports)
    redaction_of = ModelSecrets(database, secrets, settings.model_keys).redaction_of
    return Models(database, clients, names, now=now, redaction_of=redaction_of)


def _model_gateway(settings: Settings) -> ModelGateway:
    return ModelGateway(
        upstreams={upstream.name: upstream for upstream in settings.model_upstreams},
        limits=ModelLimits(
            calls=settings.model_calls,
            at_once=settings.model_calls_at_once,
            timeout_s=float(settings.model_timeout_s),
            request_bytes=settings.model_request_mb * MEBIBYTE,
            answer_bytes=settings.model_answer_mb * MEBIBYTE,
        ),
    )


def _build_api(settings: Settings, whole: App) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with _opened(settings, whole) as parts:
            for name, part in parts.items():
                setattr(app.state, name, part)
            yield

    api = FastAPI(
        title="Odyssey",
        version=__version__,
        description="Test AI agents against a world that answers.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's page loads scripts from other sites; ours works offline
        redoc_url=None,
        openapi_url=None,  # FastAPI's own would be built again for every request
        # `include_router` would build every route a second time, at the first request.
        routes=[route for module in MODULES for route in module.router.routes],
    )
    api.state.public_url = settings.public_url.rstrip("/")
    api.state.settings = settings
    api.state.upload_limit_mb = settings.upload_limit_mb
    api.state.masks_ips = settings.masks_ips
    api.state.eval_matrix_runs = settings.eval_matrix_runs

    @api.get("/health", tags=["server"])
    async def health() -> Response:
        """Whether the server answers, and which version it is."""
        return answer(Health(status="ok", version=__version__))

    @api.get(
        "/metrics",
        tags=["server"],
        dependencies=[] if settings.is_private else [ANY_KEY],
        response_class=PlainTextResponse,
        responses={401: {"description": "An API key is required.", "content": {"application/json": {}}}},
    )
    async def metrics() -> Response:
        """Figures for Prometheus. Where the server is reached from elsewhere, with an API key of any role."""
        return Response(await api.state.metrics.text(), media_type=CONTENT_TYPE)

    @api.get("/health/ready", tags=["server"])
    async def ready() -> Response:
        """Whether the database is read and written within 3 s; if not, 503 with the reason."""
        readiness: Readiness = api.state.readiness
        await readiness.check()
        return answer(Health(status="ready", version=__version__))

    @api.get("/api/code-mode", tags=["server"])
    async def code_mode(platform: Ours, key: Viewer) -> Response:
        """Whether this server runs uploaded code, how it is isolated, and if not, why; its model gateways."""
        return answer(await platform.code_mode_status())

    @api.get("/schemas/agent-response.json", tags=["server"])
    async def agent_response_schema() -> Response:
        """What an agent answers to a dispatch, as a JSON Schema."""
        return answer(RESPONSE_SCHEMA)

    @api.get("/openapi.json", include_in_schema=False)
    async def openapi_document() -> Response:
        return Response(await written.document(), media_type="application/json")

    @api.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(await written.page())

    errors.install(api)
    openapi.install(api)
    written = openapi.Written(api)
    return api
