"""What a run remembers of its calls for plans that look back: `calls('refund_order')`.

Only tools that some plan names are remembered, and only calls that succeeded: their arguments, oldest first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines.core.text.json_text import JsonObject, loads_own
from pipelines.core.tools.trace_row import TraceRow

#: Of one run, in characters of its arguments as JSON and this many for each call: 30,000 small calls. What is
#: past it is not dropped in silence: from then on `calls` stops the plan.
MAX_CHARACTERS = 4 * 1024 * 1024
EACH_CALL = 100


@dataclass(slots=True)
class CallHistory:
    calls: dict[str, list[JsonObject]]  # by tool
    characters: int = 0
    is_full: bool = False

    @classmethod
    def of(cls, tools: Iterable[str]) -> "CallHistory | None":
        """None where nothing is to be remembered."""
        calls: dict[str, list[JsonObject]] = {tool: [] for tool in sorted(tools)}
        return cls(calls) if calls else None

    def take(self, row: TraceRow) -> int:
        """A call of the log, once its outcome is known; how many characters are remembered of it."""
        if row.tool_name not in self.calls or not row.is_success:
            return 0
        text = row.arguments or "{}"
        arguments = loads_own(text)
        assert isinstance(arguments, dict), "a call that was answered had an object of arguments"
        return self.add(row.tool_name, arguments, len(text))

    def add(self, tool: str, arguments: JsonObject, characters: int = 0) -> int:
        """A call that succeeded, from wherever it is known."""
        if tool not in self.calls or self.is_full:
            return 0
        size = characters + EACH_CALL
        if self.characters + size > MAX_CHARACTERS:
            self.is_full = True
            return 0
        self.calls[tool].append(arguments)
        self.characters += size
        return size
