"""A whole plan as one function of a call, which gives a status and a response, or None for no reply."""

from collections.abc import Callable
from typing import TypeAlias

from pipelines.core.simulation import actions, places
from pipelines.core.simulation.call import Call
from pipelines.core.simulation.emit import changing, nodes
from pipelines.core.simulation.emit.ending import failure, reply
from pipelines.core.simulation.emit.expressions import VISITORS
from pipelines.core.simulation.emit.finding import find
from pipelines.core.simulation.emit.naming import Naming
from pipelines.core.simulation.emit.writer import CALL, STEP, Writer
from pipelines.core.simulation.syntax import steps
from pipelines.core.simulation.syntax.calls import parts_of
from pipelines.core.simulation.syntax.costs import EACH
from pipelines.core.simulation.values import Stopped
from pipelines.core.text.json_text import Json
from pipelines.core.text.python_tree import compiled

Code: TypeAlias = Callable[[Call], tuple[int, Json] | None]

_FUNCTION, _ERROR = "plan", "stopped"


def emitted(block: tuple[steps.Step, ...]) -> Code | None:
    """The plan's function; None where Python cannot compile it: loops in loops past its limit of twenty."""
    try:
        return _Emitter(block).function()
    except (SyntaxError, RecursionError, MemoryError):
        return None


class _Emitter:
    def __init__(self, block: tuple[steps.Step, ...]) -> None:
        self._w = Writer(VISITORS)
        self._paths: list[str] = []  # of the steps, by their numbers
        self._naming = Naming(self._w, block)
        self._block(block)

    def function(self) -> Code:
        w = self._w
        stopped, at = nodes.load(_ERROR), nodes.load(STEP)
        handler = nodes.do(nodes.call(w.function(_locate), stopped, w.constant(tuple(self._paths)), at))
        body = self._naming.prologue(w) + w.body
        tree = nodes.module(_FUNCTION, CALL, body, w.function(Stopped), _ERROR, [handler])
        space: dict[str, object] = {"__builtins__": {}, **w.constants}
        exec(compiled(tree, "<plan>"), space)  # nothing in it is an author's text: see the package
        return space[_FUNCTION]  # type: ignore[return-value]

    def _block(self, block: tuple[steps.Step, ...]) -> None:
        for step in block:
            self._paths.append(step.path)
            self._now_at(len(self._paths) - 1)
            self._w.spend(step.cost)
            self._step(step)

    def _now_at(self, number: int) -> None:
        self._w.add(nodes.assign(STEP, nodes.own(number)))

    def _step(self, step: steps.Step) -> None:
        w = self._w
        match step:
            case steps.Find():
                find(w, self._naming, step)
            case steps.Require():
                self._require(step)
            case steps.Let():
                self._let(step)
            case steps.Set():
                changing.set_values(w, step)
            case steps.Append():
                changing.append_values(w, step)
            case steps.Unset():
                changing.unset(w, step)
            case steps.AddEntity():
                changing.add(w, self._naming, step)
            case steps.Take():
                changing.take(w, step)
            case steps.Flag():
                changing.flag(w, step)
            case steps.ForEach():
                self._for_each(step)
            case steps.If():
                self._if(step)
            case steps.Fail():
                failure(w, step.failure, step.rule)
            case steps.Return():
                reply(w, step.status, step.value, step.rule)

    def _require(self, step: steps.Require) -> None:
        holds = self._w.value(step.condition.tree)
        with self._w.block() as broken:
            failure(self._w, step.otherwise, step.rule)
        self._w.add(nodes.when(nodes.negated(holds), broken))

    def _let(self, step: steps.Let) -> None:
        for binding in step.bindings:
            place = None if binding.place is None else changing.place_of(self._w, binding.place)
            self._naming.bind(self._w, binding.name, self._w.value(binding.value.tree), place)

    def _if(self, step: steps.If) -> None:
        holds = self._w.value(step.condition.tree)
        branches = []
        for block in (step.then, step.otherwise):
            with self._w.block() as branch:
                self._block(block)
            branches.append(branch)
        self._w.add(nodes.when(holds, *branches))

    def _for_each(self, step: steps.ForEach) -> None:
        w, number = self._w, len(self._paths) - 1
        home = None if step.place is None else changing.place_of(w, step.place)
        rounds = w.result(actions.rounds, w.value(step.source.tree), w.call)
        element = w.new_name("v")
        if home is not None:
            count = nodes.call(w.function(len), rounds)
            rounds = w.result(places.element_places, home, count, w.call)
        with w.block() as one_round:
            self._now_at(number)
            w.spend(EACH)
            if home is None:
                self._bind_element(step.names, element)
            else:
                w.run(places.follow, nodes.load(element), w.constant(step.names[0]), w.call)
            self._block(step.steps)
            if home is not None:
                w.run(places.release, nodes.load(element), w.call)
        w.add(nodes.loop((element,), rounds, one_round))

    def _bind_element(self, names: tuple[str, ...], element: str) -> None:
        w, value = self._w, nodes.load(element)
        if len(names) == 1:
            self._naming.bind(w, names[0], value)
            return
        parts = w.result(parts_of, value, nodes.own(len(names)))
        for index, name in enumerate(names):
            self._naming.bind(w, name, nodes.entry(parts, nodes.own(index)))


def _locate(stopped: Stopped, paths: tuple[str, ...], at: int) -> None:
    stopped.path = stopped.path or paths[at]
