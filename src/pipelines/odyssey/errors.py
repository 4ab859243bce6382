"""What can go wrong between an agent and its tools.

CallFailed
  ToolFailed                the tool answered, and the answer is an error: show it to the agent
  ProxyUnavailable          no answer of the tool could be had, after all tries
    ProxyRefused            the platform answered, and will say the same again: a wrong token or URL
NoCurrentEnvelope           a call without an envelope to say which run it belongs to
ApiFailed                   the management API refused, or did not answer
"""

from typing import Any

MOST_SHOWN = 500  # of a reply, in a message: the whole of it is on the exception


class CallFailed(Exception):
    """A call of the proxy brought no result."""


class ToolFailed(CallFailed):
    """The tool answered with an error: its backend said no, or a failure rule of the task struck.

    This is part of the test. Show `response` to the model as the tool's result, as you would the error of the
    real tool, rather than retrying it in the dark:

        try:
            return proxy_call("refund_order", {"order_id": order_id})
        except ToolFailed as failed:
            return failed.response
    """

    def __init__(self, tool: str, *, status: int, response: Any, source: str) -> None:
        super().__init__(f"{tool} answered {status}: {str(response)[:MOST_SHOWN]}")
        #: The name of the tool.
        self.tool = tool
        #: The HTTP status of the answer, 400 or above.
        self.status = status
        #: What the tool said, decoded: the agent should see this.
        self.response = response
        #: Who answered: `odyssey`, `injected`, `passthrough`, `error` or `transport_error`.
        self.source = source

    def __reduce__(self) -> tuple[Any, ...]:
        return _tool_failed, (self.tool, self.status, self.response, self.source)


def _tool_failed(tool: str, status: int, response: Any, source: str) -> ToolFailed:
    return ToolFailed(tool, status=status, response=response, source=source)


class ProxyUnavailable(CallFailed):
    """The proxy gave no answer of the tool, after all tries. Let it end the run: the tools are gone."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        #: The HTTP status of the last try; None when there was no answer at all.
        self.status = status


class ProxyRefused(ProxyUnavailable):
    """The proxy answered that it will not do this (a wrong token, URL or event type). It is not retried."""


class NoCurrentEnvelope(LookupError):
    """No envelope is bound here, so it is not known which run this call belongs to.

    Inside a dispatch handler one is bound. A thread started by hand does not inherit it: hand the envelope
    over and bind it there (`with set_current(envelope): …`), start the thread's work with
    `contextvars.copy_context().run(…)`, use `run_async_in_thread`, or call `proxy_call_with(envelope, …)`.
    """

    def __init__(self) -> None:
        super().__init__("\n".join((type(self).__doc__ or "").split("\n    ")).strip())


class ApiFailed(Exception):
    """The management API did not do what was asked; the message has every problem that it named."""

    def __init__(
        self, message: str, *, status: int | None = None, code: str | None = None, details: Any = None
    ) -> None:
        super().__init__(message)
        #: The HTTP status; None when the server did not answer.
        self.status = status
        #: The stable word for what is wrong, such as `invalid_request`.
        self.code = code
        #: Every problem, as the server listed them.
        self.details = details
