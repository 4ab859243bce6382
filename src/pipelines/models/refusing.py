"""`refusing:` and `refusing:REASON`: a model that never answers, to see what happens then."""

from pipelines.core.models.model_question import Failure, ModelAnswer, ModelCallFailed, ModelQuestion


class RefusingModel:
    def __init__(self, failure: Failure = Failure.REFUSED) -> None:
        self._failure = failure

    async def ask(self, question: ModelQuestion) -> ModelAnswer:
        raise ModelCallFailed(self._failure, "this model is a stand-in that refuses everything", tokens=0)

    def cost_nanousd(self, input_tokens: int, output_tokens: int) -> int | None:
        return 0
