"""The author of a session by its name: the one place where another author comes in."""

from pipelines.core.tasks.seed_session import EMBEDDED
from pipelines.engine.platform import Platform
from pipelines.engine.worlds.authors import Author
from pipelines.engine.worlds.embedded_author import EmbeddedAuthor
from pipelines.engine.worlds.model_author import ModelAuthor


def author_of(platform: Platform, name: str) -> Author:
    if name == EMBEDDED:
        return EmbeddedAuthor(platform.upload_helpers)
    return ModelAuthor(platform.models, platform.upload_helpers)
