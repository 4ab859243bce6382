"""The envelope of the current run, in a context variable."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..wire.envelope import Envelope
from .errors import NoCurrentEnvelope

_CURRENT: ContextVar[Envelope | None] = ContextVar("pipelines_odyssey_envelope", default=None)


@contextmanager
def set_current(envelope: Envelope) -> Iterator[Envelope]:
    """Bind an envelope: calls made inside belong to its run.

    Tasks of asyncio inherit it; threads do not, so a thread binds it itself:

        def work(envelope):
            with set_current(envelope):
                proxy_call("get_order", {"order_id": "4521"})

        threading.Thread(target=work, args=[current()]).start()
    """
    before = _CURRENT.set(envelope)
    try:
        yield envelope
    finally:
        _CURRENT.reset(before)


def current() -> Envelope:
    """The envelope bound here. Raises NoCurrentEnvelope, which says what to do, where there is none."""
    envelope = _CURRENT.get()
    if envelope is None:
        raise NoCurrentEnvelope
    return envelope


def current_or_none() -> Envelope | None:
    """The envelope bound here, or None."""
    return _CURRENT.get()
