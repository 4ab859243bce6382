"""The author of a session by its name: the one place where another author comes in."""

from pipelines.core.tasks.seed_session import EMBEDDED
from pipelines.engine.authors import Author
from pipelines.engine.embedded_author import EmbeddedAuthor
from pipelines.engine.model_author import ModelAuthor
from pipelines.engine.platform import Platform


def author_of(platform: Platform, name: str) -> Author:
    if name == EMBEDDED:
        return EmbeddedAuthor(platform.upload_helpers)
    return ModelAuthor(platform.models, platform.upload_helpers)
