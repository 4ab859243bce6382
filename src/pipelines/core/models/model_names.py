"""How a model is named: `openai:gpt-5-mini`, a URL with a model behind `#`, or a stand-in for tests.

A name says where a question goes, so whose name it is decides what goes with it: an operator names files,
private addresses and models that his own key pays for; what an org names is less (`for_orgs`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from pipelines.core.models.model_question import Failure, Purpose
from pipelines.core.models.providers import KEY_VARIABLES
from pipelines.core.text.authored import Fields, as_object, did_you_mean, quote_names
from pipelines.core.text.json_text import Json
from pipelines.core.text.problems import Problem
from pipelines.core.text.url_host import host_complaint

LONGEST = 500
EXAMPLE = "such as openai:gpt-5-mini, anthropic:claude-haiku-4-5 or http://127.0.0.1:11434/v1#qwen3"
#: For a URL. Not a provider's own: that one is never sent anywhere else than to the provider.
URL_KEY = "MODEL_API_KEY"
STAND_INS = ("scripted", "recorded", "refusing")

Kind: TypeAlias = Literal["provider", "url", "scripted", "recorded", "refusing"]
_MODEL = re.compile(r"[!-~]{1,200}")


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelName:
    text: str  # as it was written: what is shown and stored
    kind: Kind
    provider: str = ""  # of `provider`
    model: str = ""  # as its server knows it
    where: str = ""  # the base URL, the file, or the failure of `refusing`

    @property
    def is_stand_in(self) -> bool:
        return self.kind in STAND_INS

    @property
    def key_variable(self) -> str | None:
        if self.kind == "provider":
            return KEY_VARIABLES[self.provider]
        return URL_KEY if self.kind == "url" else None

    @property
    def needs_key(self) -> bool:
        return self.kind == "provider"

    @property
    def served_by(self) -> str:
        """What has one limit of questions at a time."""
        return self.provider or (self.where if self.kind == "url" else self.kind)


def read_model_name(text: str, path: str, problems: list[Problem]) -> ModelName | None:
    """The name, or None with what is wrong noted under `path`."""
    name = _read(text)
    if isinstance(name, ModelName):
        return name
    message, hint = name
    problems.append(Problem(path=path, message=message, hint=hint))
    return None


def _read(text: str) -> ModelName | tuple[str, str]:
    if len(text) > LONGEST or not text.isprintable():
        return (
            f"is not a valid model name: it has over {LONGEST} characters, or invisible ones",
            EXAMPLE,
        )
    if text.startswith(("http://", "https://")):
        return _read_url(text)
    before, colon, rest = text.partition(":")
    if before in STAND_INS and colon:
        return _read_stand_in(text, before, rest)
    if not colon or not rest:
        return f"`{text[:80]}` is not a valid model name: write `provider:model`", EXAMPLE
    if before not in KEY_VARIABLES:
        near = did_you_mean(before, KEY_VARIABLES) or f"known are {quote_names(KEY_VARIABLES)}, or a URL"
        return f"there is no provider `{before[:80]}`", near
    if _MODEL.fullmatch(rest) is None:
        return f"`{rest[:80]}` is not a valid model: it has spaces, or over 200 characters", EXAMPLE
    return ModelName(text=text, kind="provider", provider=before, model=rest)


def _read_stand_in(text: str, kind: str, rest: str) -> ModelName | tuple[str, str]:
    if kind == "refusing":
        if rest and rest not in set(Failure):
            return f"`{rest[:80]}` is not a reason to refuse", f"one of {quote_names(Failure)}"
        return ModelName(text=text, kind="refusing", where=rest or Failure.REFUSED)
    if not rest:
        return f"`{kind}:` needs a file", f"such as {kind}:answers.jsonl"
    return ModelName(text=text, kind="scripted" if kind == "scripted" else "recorded", where=rest)


def _read_url(text: str) -> ModelName | tuple[str, str]:
    url, _, model = text.partition("#")
    example = "such as http://127.0.0.1:11434/v1#qwen3"
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"is not a URL: {error}", example
    if not url.isascii() or " " in url:
        return "has characters that are not allowed in a URL", example
    if parts.username is not None or parts.password is not None:
        return f"has credentials in its URL; store the key as a credential named {URL_KEY}", example
    if "?" in url:
        return "must end with its path and the model, without `?`", example
    if (complaint := host_complaint(parts)) is not None:
        return complaint, example
    if _MODEL.fullmatch(model) is None:
        return "has no model: add it after a `#`", example
    return ModelName(text=text, kind="url", model=model, where=url.rstrip("/"))


def for_orgs(name: ModelName, *, allows_private: bool) -> str | None:
    """Why an org may not name this one; None if it may. A URL and a file are places of the operator's."""
    if allows_private or name.kind == "provider":
        return None
    what = "a URL" if name.kind == "url" else f"`{name.kind}:`"
    return f"{what} may be set only in the server's settings, not by an agent or a dataset"


def read_models(fields: Fields, key: str = "models") -> dict[Purpose, str]:
    """What an agent or a dataset names: `{"judge": "openai:…"}`. Whether this server takes it: `for_orgs`."""
    if not fields.has(key):
        return {}
    body = as_object(fields.get(key), fields.at(key), fields.problems, f"`{key}`")
    if body is None:
        return {}
    inner = Fields(body, fields.at(key), fields.problems)
    inner.refuse_unknown([purpose.value for purpose in Purpose])
    found: dict[Purpose, str] = {}
    for purpose in Purpose:
        text = inner.text(purpose.value, longest=LONGEST)
        if text is None:
            continue
        if read_model_name(text, inner.at(purpose.value), inner.problems) is not None:
            found[purpose] = text
    return found


def models_json(models: Mapping[Purpose, str]) -> dict[str, Json]:
    return {purpose.value: name for purpose, name in models.items()}
