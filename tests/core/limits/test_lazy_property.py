"""A value that is computed once per instance, while other instances wait for nobody."""

import ast
import threading
from pathlib import Path

import pytest

import pipelines
from pipelines.core.limits.lazy_property import lazy_property

pytestmark = pytest.mark.unit

SOURCES = sorted(Path(pipelines.__file__).parent.rglob("*.py"))
PATIENCE_S = 30.0  # only a reader that waits for the other takes so long


class Reading:
    """What one org sends; `gate` holds it back."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.gate = gate
        self.begun = threading.Event()
        self.times = 0

    @lazy_property
    def value(self) -> list[str]:
        """What it says."""
        self.times += 1
        self.begun.set()
        if self.gate is not None:
            self.gate.wait(PATIENCE_S)
        return ["read"]


def test_a_value_is_computed_once_and_kept():
    reading = Reading()
    assert reading.value is reading.value
    assert reading.times == 1
    assert Reading.value.__doc__ == "What it says."


def test_a_second_reader_ends_while_the_first_is_held():
    gate = threading.Event()
    slow, quick = Reading(gate), Reading()
    first = threading.Thread(target=lambda: slow.value, daemon=True)
    second = threading.Thread(target=lambda: quick.value, daemon=True)
    first.start()
    assert slow.begun.wait(PATIENCE_S)
    second.start()
    second.join(PATIENCE_S)
    was_held = first.is_alive()
    gate.set()
    assert not second.is_alive()
    assert was_held
    assert quick.value == ["read"]


def test_two_readers_of_one_instance_get_the_same_value():
    gate = threading.Event()
    reading, found = Reading(gate), []
    threads = [threading.Thread(target=lambda: found.append(reading.value)) for _ in range(2)]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found[0] is found[1]
    assert reading.value is found[0]


def test_an_error_is_not_kept():
    class Failing:
        times = 0

        @lazy_property
        def value(self) -> int:
            self.times += 1
            if self.times == 1:
                raise ValueError("no")
            return 2

    one = Failing()
    with pytest.raises(ValueError, match="no"):
        _ = one.value
    assert one.value == 2


def test_no_module_uses_the_property_with_a_lock_for_its_whole_class():
    """`functools.cached_property` of Python 3.11 makes all orgs wait for the slowest."""
    used = []
    for path in SOURCES:
        text = path.read_text("utf-8")
        if "cached_property" in text:
            names = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
            names |= {
                name.name
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.ImportFrom)
                for name in node.names
            }
            names |= {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
            used += [str(path)] if "cached_property" in names else []
    assert used == []
