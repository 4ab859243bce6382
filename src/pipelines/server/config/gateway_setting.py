"""PIPELINES_MODEL_GATEWAY: the operator's list of models, as a file or as JSON in the variable."""

from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from pipelines.core.models.model_upstreams import ModelUpstream, read_upstreams
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.yaml_text import YamlText, read_yaml
from pipelines.outbound.address_guard import ALLOWED_BY, NEVER_ALLOWED, AddressPolicy

VARIABLE = "PIPELINES_MODEL_GATEWAY"
LARGEST = 256 * 1024


def read_setting(
    text: str, environment: Mapping[str, str], problems: list[Problem]
) -> tuple[ModelUpstream, ...]:
    """Reads the upstreams, and adds their problems to `problems`."""
    if not text.strip():
        return ()
    is_inline = text.lstrip().startswith("{")
    where = VARIABLE if is_inline else f"{VARIABLE} ({text})"
    try:
        written = text if is_inline else _file_text(Path(text))
        read = read_yaml(written, what="model", most_bytes=LARGEST)
    except Refused as refused:
        problems += [_placed(problem, where) for problem in refused.problems]
        return ()
    found: list[Problem] = []
    upstreams = read_upstreams(read.value, environment=environment, problems=found)
    problems += [_placed(_with_line(problem, read, is_inline=is_inline), where) for problem in found]
    return upstreams


def address_problems(upstreams: tuple[ModelUpstream, ...], policy: AddressPolicy) -> list[Problem]:
    """Problems of upstreams with an IP address that the server must not call. Host names are checked on each
    call."""
    problems = []
    for upstream in upstreams:
        host = urlsplit(upstream.base_url).hostname or "" if upstream.base_url else ""
        try:
            ip_address(host)
        except ValueError:
            continue
        refusal = policy.refusal(host)
        if refusal is not None:
            is_final = AddressPolicy(allow_private=True).refusal(host) is not None
            message = f"upstream `{upstream.name}`: {host} is {refusal}, which this server must not call"
            hint = NEVER_ALLOWED if is_final else ALLOWED_BY
            problems.append(
                Problem(path=f"{VARIABLE}: /{upstream.name}/base_url", message=message, hint=hint)
            )
    return problems


def _file_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LARGEST + 1).decode("utf-8-sig")
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        message = f"cannot be read: {reason}"
    except UnicodeDecodeError:
        message = "is not UTF-8 text"
    hint = "use the path of a YAML or JSON file, or the list itself as JSON: {…}"
    raise Refused([Problem(path="", message=message, hint=hint)], "the file")


def _with_line(problem: Problem, read: YamlText, *, is_inline: bool) -> Problem:
    return problem if is_inline else read.placed(problem)


def _placed(problem: Problem, where: str) -> Problem:
    path = f"{where}: {problem.path}" if problem.path else where
    return Problem(path=path, message=problem.message, hint=problem.hint)
