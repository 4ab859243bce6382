"""Keeping an endpoint's secrets out of what its server says."""

from collections.abc import Mapping, Sequence

from pipelines.core.code.redaction import Redaction
from pipelines.core.endpoints.redact_discovery import redact_discovery
from pipelines.core.text.json_text import Json, dumps, loads_own
from pipelines.core.tools.live_tools import Discovery, LiveCallFailed, LiveReply
from pipelines.outbound.mcp.exchange import aside


class Masking:
    """A server may repeat what it was sent, in an error or an answer: a name is put in its place."""

    def __init__(self, credentials: Mapping[str, str]) -> None:
        """Values by their names. The same names as when tools are stored: fingerprints are compared."""
        self._redaction = Redaction(credentials)

    def text(self, text: str) -> str:
        return self._redaction.text(text)

    def failed(self, message: str, notes: Sequence[str] = ()) -> LiveCallFailed:
        return LiveCallFailed(self.text(message), notes=tuple(map(self.text, notes)))

    async def reply(self, reply: LiveReply, size: int) -> LiveReply:
        """The same unless there is a secret in it."""
        response = await aside(size, self._json, reply.response)
        return reply._replace(response=response, notes=tuple(map(self.text, reply.notes)))

    def discovery(self, found: Discovery) -> Discovery:
        return redact_discovery(found, self._redaction)

    def _has_secret(self, value: Json) -> bool:
        if not self._redaction:
            return False
        text = dumps(value)
        return self._redaction.bytes(text) != text

    def _json(self, value: Json) -> Json:
        return loads_own(self._redaction.json_bytes(dumps(value))) if self._has_secret(value) else value
