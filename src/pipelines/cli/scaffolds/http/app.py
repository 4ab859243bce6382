"""The agent as an HTTP endpoint: `uvicorn app:app --port 9100`, with AGENT_TOKEN in the environment."""

from agent import answer
from fastapi import FastAPI

from pipelines.odyssey import register_dispatch_route

app = FastAPI()
register_dispatch_route(app, answer)
