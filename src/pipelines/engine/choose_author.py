"""The author of a session by its name. A model's comes in here, once a server has one."""

from pipelines.engine.authors import Author, refuse_model
from pipelines.engine.embedded_author import EmbeddedAuthor
from pipelines.engine.platform import Platform


def author_of(platform: Platform, name: str) -> Author:
    refuse_model(name)
    return EmbeddedAuthor(platform.upload_helpers)
