"""The author of a session by its name: the one place where another author comes in."""

from pipelines.core.model_question import Purpose
from pipelines.core.problems import Problem, Refused
from pipelines.core.seed_session import EMBEDDED
from pipelines.engine.authors import Author
from pipelines.engine.embedded_author import EmbeddedAuthor
from pipelines.engine.platform import Platform


def author_of(platform: Platform, name: str) -> Author:
    """ModelNotConfigured, with the setting, where a model is asked for and none is set."""
    if name == EMBEDDED:
        return EmbeddedAuthor(platform.upload_helpers)
    platform.models.needed(Purpose.AUTHOR)
    message = "a model as the author is not there yet, though one is configured"
    hint = 'take "author": "embedded", which needs no model'
    raise Refused([Problem(path="/author", message=message, hint=hint)], "the session")
