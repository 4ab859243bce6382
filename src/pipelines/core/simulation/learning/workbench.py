"""A recording laid out by tool, so that its tools can be learnt one by one, also in other processes."""

from collections.abc import Callable, Iterable, Sequence

from pipelines.core.limits.lazy_property import lazy_property
from pipelines.core.simulation.fidelity.recording import Recording
from pipelines.core.simulation.learning.choice import learn_tool
from pipelines.core.simulation.learning.examples import Example, examples_of
from pipelines.core.simulation.learning.learned import LearnedPlans, LearnedTool, Options
from pipelines.core.simulation.learning.replies_only import has_replies_alone, with_inferred_world
from pipelines.core.simulation.learning.trial import Reading
from pipelines.core.tools.tools_schema import Tool

Clock = Callable[[], float]  # seconds, from any origin
#: Told after each tool: how many are done, how many there are, and which one it was.
Progress = Callable[[int, int, str], None]


class Workbench:
    def __init__(self, recording: Recording, tools: Sequence[Tool], options: Options | None = None) -> None:
        self._inferred = with_inferred_world(recording) if has_replies_alone(recording) else None
        self.recording = self._inferred.recording if self._inferred is not None else recording
        self.tools = tuple(tools)
        self.options = options or Options()

    @lazy_property
    def examples(self) -> dict[str, list[Example]]:
        return examples_of(self.recording)

    @lazy_property
    def _reading(self) -> Reading:
        return Reading(self.tools)

    def names(self) -> list[str]:
        """Tools that the recording has calls of, those with most calls first: they take longest."""
        declared = {tool.name for tool in self.tools}
        calls = {name: len(found) for name, found in self.examples.items() if name in declared}
        return sorted(calls, key=lambda name: (-calls[name], name))

    def learn_tool(self, name: str, is_over: Callable[[], bool] = lambda: False) -> LearnedTool:
        tool = next(tool for tool in self.tools if tool.name == name)
        return learn_tool(tool, self.examples[name], self._reading, self.options, is_over)

    def learned(self, tools: Iterable[LearnedTool]) -> LearnedPlans:
        """What was learnt of single tools as one answer."""
        by_name = {one.tool: one for one in tools}
        ordered = tuple(by_name[tool.name] for tool in self.tools if tool.name in by_name)
        missing = tuple(tool.name for tool in self.tools if tool.name not in self.examples)
        inferred = self._inferred
        return LearnedPlans(
            tools=ordered,
            without_calls=missing,
            inferred_state=inferred.state if inferred is not None else None,
            unseen=inferred.unseen if inferred is not None else _unseen(self.recording),
        )


def learn(
    recording: Recording,
    tools: Sequence[Tool],
    *,
    clock: Clock,
    options: Options | None = None,
    progress: Progress | None = None,
) -> LearnedPlans:
    """A plan for every tool of the recording, in this process.

    `clock` gives seconds and is asked only whether the budget is spent: with enough of it, the same recording
    gives the same plans. For several processes, give each its own `Workbench` and collect with `learned`.
    """
    bench = Workbench(recording, tools, options)
    end = clock() + bench.options.budget_s
    found: list[LearnedTool] = []
    names = bench.names()
    for name in names:
        found.append(bench.learn_tool(name, lambda: clock() > end))
        if progress is not None:
            progress(len(found), len(names), name)
    return bench.learned(found)


def _unseen(recording: Recording) -> tuple[str, ...]:
    if any(call.updates for task in recording.tasks for call in task.calls):
        return ()
    return ("The recording has no changes: what tools change is not learnt",)
