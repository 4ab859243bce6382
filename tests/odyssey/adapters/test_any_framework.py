"""docs/howto/any-framework.md, done as written, with pydantic-ai and smolagents as they are installed."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.repository import DOCS

PAGE = (DOCS / "howto" / "any-framework.md").read_text()


@pytest.fixture(scope="module")
def howto(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The page's code as one module in a file: smolagents reads the source of a tool."""
    pytest.importorskip("pydantic_ai")
    pytest.importorskip("smolagents")
    path = tmp_path_factory.mktemp("howto") / "any_framework.py"
    path.write_text("\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)))
    names: dict[str, Any] = {"__name__": "any_framework"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """`run_sync` of pydantic-ai takes the thread's event loop, or makes one that nobody closes."""
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    yield
    asyncio.set_event_loop(None)
    own.close()


def scripted_pydantic_ai(*calls: tuple[str, dict[str, Any]], seen: list[Any]) -> Any:
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def play(messages: list[Any], info: Any) -> ModelResponse:
        seen.append({each.name: each.parameters_json_schema for each in info.function_tools})
        turn = len([each for each in messages if each.kind == "response"])
        if turn < len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[turn])])
        seen.append(messages[-1].parts[-1].content)
        return ModelResponse(parts=[TextPart("I have refunded order 4521.")])

    return FunctionModel(play)


def scripted_smolagents(*calls: tuple[str, dict[str, Any]]) -> Any:
    from smolagents.models import (
        ChatMessage,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        MessageRole,
        Model,
    )

    class Scripted(Model):  # type: ignore[misc]
        turn = 0

        def generate(self, messages: Any, **more: Any) -> ChatMessage:
            name, arguments = [*calls, ("final_answer", {"answer": "I have refunded order 4521."})][self.turn]
            self.turn += 1
            function = ChatMessageToolCallFunction(name=name, arguments=arguments)
            call = ChatMessageToolCall(id=str(self.turn), type="function", function=function)
            return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=[call])

    return Scripted(model_id="scripted")


LOOK = ("get_order", {"order_id": "4521"})
REFUND = ("refund_order", {"order_id": "4521"})


def test_pydantic_ai_refunds_in_the_simulated_world(howto: dict[str, Any]) -> None:
    seen: list[Any] = []
    model = scripted_pydantic_ai(LOOK, REFUND, seen=seen)
    assert howto["verdict_of"](howto["answer_with_pydantic_ai"], model) == "PASS"
    # The model is shown what is declared: one source.
    declared = {each["name"]: each["input_schema"] for each in howto["SCHEMA"]}
    assert {name: set(each["properties"]) for name, each in seen[0].items()} == {
        name: set(each["properties"]) for name, each in declared.items()
    }
    assert seen[0]["refund_order"]["properties"]["reason"]["enum"] == ["damaged", "late", "other"]


def test_pydantic_ai_reads_the_backends_error(howto: dict[str, Any]) -> None:
    seen: list[Any] = []
    model = scripted_pydantic_ai(("get_order", {"order_id": "0000"}), seen=seen)
    assert howto["verdict_of"](howto["answer_with_pydantic_ai"], model) == "FAIL"
    assert "error" in seen[-1]


def test_smolagents_refunds_in_the_simulated_world(howto: dict[str, Any]) -> None:
    model = scripted_smolagents(LOOK, REFUND)
    assert howto["verdict_of"](howto["answer_with_smolagents"], model) == "PASS"
