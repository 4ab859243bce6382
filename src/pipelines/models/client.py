"""The one protocol. A client asks one model and gives back what it said, read as JSON but not checked."""

from typing import Protocol

from pipelines.core.models.model_question import ModelAnswer, ModelQuestion


class ModelClient(Protocol):
    """Retries of what a provider is to blame for (429, 5xx) are inside; a bad answer is the asker's."""

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        """Raises ModelGaveNothing."""

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        """What so many tokens cost. None: this model has no price."""
