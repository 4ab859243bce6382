"""From a model's name to something that can be asked."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.core.models.model_names import ModelName
from pipelines.core.models.model_question import Failure, ModelCallFailed
from pipelines.core.text.problems import Refused
from pipelines.models.client import ModelClient

if TYPE_CHECKING:
    import httpx2

INSTALL = "pip install 'pipelines-odyssey[models]'"


def open_model(name: ModelName, *, key: str | None, transport: "httpx2.AsyncBaseTransport") -> ModelClient:
    """Raises ModelGaveNothing where it cannot be had. Imports a provider's packages, which takes seconds:
    not on an event loop."""
    if name.is_stand_in:
        return open_stand_in(name)
    try:
        from pipelines.models.provider import open_provider
    except ImportError as error:
        message = f"asking `{name.text}` needs a package that is not installed ({error.name}): {INSTALL}"
        raise ModelCallFailed(Failure.UNAVAILABLE, message, requests=0, tokens=0) from None
    return open_provider(name, key=key, transport=transport)


def is_priced(name: ModelName) -> bool:
    """Whether it is known what its tokens cost. Imports the table of prices: not on an event loop."""
    if name.kind == "url":
        return False
    if name.kind == "provider":
        try:
            from pipelines.models.prices import cost_of
        except ImportError:
            return False
        return cost_of(name, 1_000, 1_000) is not None
    try:
        return open_stand_in(name).cost_nanousd(1_000, 1_000) is not None
    except ModelCallFailed:
        return False


def open_stand_in(name: ModelName) -> ModelClient:
    from pipelines.models.recorded import read_cassette
    from pipelines.models.refusing import RefusingModel
    from pipelines.models.script_file import read_script

    if name.kind == "refusing":
        return RefusingModel(Failure(name.where))
    try:
        return read_script(Path(name.where)) if name.kind == "scripted" else read_cassette(Path(name.where))
    except Refused as refused:
        complaints = "; ".join(problem.said() for problem in refused.problems[:10])
        message = f"`{name.text}` cannot be read: {complaints}"
        raise ModelCallFailed(Failure.BAD_REQUEST, message, requests=0, tokens=0) from None
