"""The only place that builds everything: storage, platform, proxy and API into one ASGI application."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Response
from fastapi.responses import HTMLResponse

from pipelines import __version__
from pipelines.core.agent_response_schema import RESPONSE_SCHEMA
from pipelines.engine.dispatch_run import Dispatcher
from pipelines.engine.live_runs import LiveRuns
from pipelines.engine.platform import Platform
from pipelines.engine.run_batch import BatchRunner
from pipelines.outbound.address_guard import AddressPolicy
from pipelines.outbound.agent_client import AgentClient
from pipelines.server import docs_page, errors, openapi
from pipelines.server.api import agents, batches, datasets, keys, runs
from pipelines.server.api.common import answer
from pipelines.server.first_start import SECRET_FILE
from pipelines.server.proxy import Proxy, Receive, Scope, Send
from pipelines.server.settings import Settings
from pipelines.storage.database import Database
from pipelines.storage.secret_box import SecretBox, load_or_make_key
from pipelines.wire.names import PROXY_BASE

# With the default of 5 ms the writer thread waits that long for its turn whenever the loop is busy;
# measured at 32 connections, half a millisecond serves a third more calls.
SWITCH_INTERVAL_S = 0.0005
_PROXY_PATHS = f"{PROXY_BASE}/"


class App:
    """The proxy stands in front of the framework: a tool call never passes through it."""

    proxy: Proxy  # set when the application starts

    def __init__(self, settings: Settings, *, own_url: str = "", is_worker: bool = False) -> None:
        """`own_url` is where agents reach this process when no public URL is set."""
        self.own_url = settings.public_url.rstrip("/") or own_url
        self.is_worker = is_worker
        self.api = _build_api(settings, self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(_PROXY_PATHS):
            await self.proxy(scope, receive, send)
        else:
            await self.api(scope, receive, send)


def _build_api(settings: Settings, whole: App) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        database = Database(settings.store())
        client = AgentClient(AddressPolicy(allow_private=settings.allows_private_endpoints))
        platform = Platform(
            database=database,
            secrets=SecretBox(load_or_make_key(settings.data_dir / SECRET_FILE, settings.secret_key)),
            live_runs=LiveRuns(database),
            manual_run_ttl_s=settings.manual_run_ttl_s,
            endpoint_refusal=client.refusal,
        )
        dispatcher = Dispatcher(platform, client, whole.own_url)
        runner = BatchRunner(
            platform,
            worker=settings.worker_id(),
            database_url=settings.durable_url,
            silent_s=settings.worker_silent_s,
            dispatch_run=dispatcher.dispatch_run,
        )
        app.state.platform = platform
        app.state.agent_client = client
        app.state.runner = runner
        whole.proxy = Proxy(platform, rate_limit=settings.proxy_rate_limit)
        await runner.start(listen=whole.is_worker)
        try:
            yield
        finally:
            await runner.stop()
            await database.close()

    api = FastAPI(
        title="Odyssey",
        version=__version__,
        description="Test AI agents against a world that answers.",
        lifespan=lifespan,
        docs_url=None,  # FastAPI's page fetches its scripts from elsewhere; ours works offline
        redoc_url=None,
    )
    api.state.public_url = settings.public_url.rstrip("/")
    api.state.upload_limit_mb = settings.upload_limit_mb
    for module in (agents, datasets, runs, batches, keys):
        api.include_router(module.router)

    @api.get("/health", tags=["server"])
    async def health() -> dict[str, str]:
        """Whether the server answers, and which version it is."""
        return {"status": "ok", "version": __version__}

    @api.get("/schemas/agent-response.json", tags=["server"])
    async def agent_response_schema() -> Response:
        """What an agent answers to a dispatch, as a JSON Schema."""
        return answer(RESPONSE_SCHEMA)

    @api.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(docs_page.render(api.openapi()))

    errors.install(api)
    openapi.install(api)
    return api
