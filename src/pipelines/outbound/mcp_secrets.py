"""Keeping an endpoint's secrets out of what its server says."""

import asyncio
from collections.abc import Iterable, Sequence

from pipelines.core.json_text import Json, dumps, loads_own
from pipelines.core.live_tools import Discovery, FoundTool, HopFailed, LiveReply
from pipelines.core.redaction import Redaction


class Masking:
    """A server may repeat what it was sent, in an error or an answer: a name is put in its place."""

    def __init__(self, secrets: Iterable[str]) -> None:
        # The whole of "Bearer x", and x by itself.
        values = {part for value in secrets for part in (value, value.rpartition(" ")[2]) if part}
        self._redaction = Redaction(
            {f"of the endpoint {number}": each for number, each in enumerate(values, 1)}
        )

    def text(self, text: str) -> str:
        return self._redaction.text(text)

    def failed(self, message: str, notes: Sequence[str] = ()) -> HopFailed:
        return HopFailed(self.text(message), notes=tuple(map(self.text, notes)))

    async def reply(self, reply: LiveReply) -> LiveReply:
        """The same unless there is a secret in it; a large one is then walked on a thread."""
        response = reply.response
        if self._has_secret(response):
            response = await asyncio.to_thread(self._json, response)
        return reply._replace(response=response, notes=tuple(map(self.text, reply.notes)))

    def discovery(self, found: Discovery) -> Discovery:
        tools = tuple(map(self._tool, found.tools))
        return Discovery(tools=tools, notes=tuple(map(self.text, found.notes)))

    def _tool(self, tool: FoundTool) -> FoundTool:
        schemas = self._json([tool.input_schema, tool.output_schema])
        assert isinstance(schemas, list)
        given, output = schemas
        return FoundTool(
            name=tool.name,
            description=self.text(tool.description),
            input_schema=given if isinstance(given, dict) else {},
            output_schema=output if isinstance(output, dict) else None,
            call=tool.call,
        )

    def _has_secret(self, value: Json) -> bool:
        if not self._redaction:
            return False
        text = dumps(value)
        return self._redaction.bytes(text) != text

    def _json(self, value: Json) -> Json:
        return loads_own(self._redaction.json_bytes(dumps(value))) if self._has_secret(value) else value
