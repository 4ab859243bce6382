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
        response = await self._json(reply.response)
        return reply._replace(response=response, notes=tuple(map(self.text, reply.notes)))

    async def discovery(self, found: Discovery) -> Discovery:
        tools = [await self._tool(tool) for tool in found.tools]
        return Discovery(tools=tuple(tools), notes=tuple(map(self.text, found.notes)))

    async def _tool(self, tool: FoundTool) -> FoundTool:
        schemas = await self._json([tool.input_schema, tool.output_schema])
        assert isinstance(schemas, list)
        given, output = schemas
        return FoundTool(
            name=tool.name,
            description=self.text(tool.description),
            input_schema=given if isinstance(given, dict) else {},
            output_schema=output if isinstance(output, dict) else None,
            call=tool.call,
        )

    async def _json(self, value: Json) -> Json:
        """The same value unless there is a secret in it. A large one is then walked on a thread."""
        text = dumps(value)
        if not self._redaction or self._redaction.bytes(text) == text:
            return value
        return loads_own(await asyncio.to_thread(self._redaction.json_bytes, text))
