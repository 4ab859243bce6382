"""A model played by the test: what it does next is a function of what it has heard, in every framework alike.

Each framework's own model interface is spoken by a module beside this one; here is what they have in common.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

MODEL = "played-1"
SYSTEM = "You are a support agent."
THOUGHT = "I should look before I act."
TOKENS_IN, TOKENS_OUT = 11, 3  # of every model call
ORDER_ID = re.compile(r"#(\w+)")


class Heard(NamedTuple):
    role: str  # user, assistant, tool
    text: str
    is_error: bool = False


class Say(NamedTuple):
    text: str


class Use(NamedTuple):
    tool: str
    arguments: dict[str, Any]


Step: TypeAlias = Say | Use
Decide: TypeAlias = Callable[[Sequence[Heard]], Step]


@dataclass
class Played:
    """The model's part: `decide` is what it does, the rest is what it saw."""

    decide: Decide
    system_prompts: list[str] = field(default_factory=list)
    heard: list[list[Heard]] = field(default_factory=list)
    tools_offered: list[list[str]] = field(default_factory=list)

    def next_step(self, system: str | None, heard: Sequence[Heard], tools: Sequence[str]) -> Step:
        self.system_prompts.append(system or "")
        self.heard.append(list(heard))
        self.tools_offered.append(list(tools))
        return self.decide(heard)


def since_the_user(heard: Sequence[Heard]) -> tuple[str, list[Heard]]:
    """What the user said last, and the tool results since."""
    last = max(index for index, each in enumerate(heard) if each.role == "user")
    first = last
    while first and heard[first - 1].role == "user":  # some frameworks tell it in pieces
        first -= 1
    asked = "\n".join(each.text for each in heard[first : last + 1])
    return asked, [each for each in heard[last + 1 :] if each.role == "tool"]


def refunds(heard: Sequence[Heard]) -> Step:
    """Looks the order up, refunds it, tries once more when that fails, and says what the backend said."""
    asked, results = since_the_user(heard)
    order = {"order_id": ORDER_ID.search(asked)[1]}  # type: ignore[index]
    if not results:
        return Use("get_order", order)
    if len(results) == 1 or (results[-1].text.find("error") >= 0 and len(results) < 3):
        return Use("refund_order", order)
    if "error" in results[-1].text:
        return Say(f"I could not refund order {order['order_id']}: {results[-1].text}")
    return Say(f"I have refunded order {order['order_id']}.")


def greets(heard: Sequence[Heard]) -> Step:
    return Say(f"I have heard {len(heard)} things, the first of them {heard[0].text!r}.")


def never_ends(heard: Sequence[Heard]) -> Step:
    return Use("get_order", {"order_id": "4521"})


def asks(tool: str, arguments: dict[str, Any]) -> Decide:
    """Gives the work to another agent, and passes on what it says."""

    def decide(heard: Sequence[Heard]) -> Step:
        results = [each for each in heard if each.role == "tool"]
        return Say(f"My colleague says: {results[-1].text}") if results else Use(tool, arguments)

    return decide
