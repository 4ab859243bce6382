"""The agent as an HTTP endpoint: `uvicorn app:app --port 9100`, with AGENT_TOKEN in the environment."""

from agent import answer

from pipelines.odyssey import dispatch_asgi

app = dispatch_asgi(answer)
