"""What may stand in a requirements file: names of packages with versions, and nothing that names a place."""

import re

from pipelines.core.text.problems import Problem, Refused

MOST_LINES = 200
LONGEST_LINE = 500

_PLAIN = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"  # its name
    r"\s*+(?:\[[A-Za-z0-9._,\s-]*\])?"  # extras; possessive, so that spaces are tried one way only
    r"\s*+\(?(?:[<>=!~]=?=?[A-Za-z0-9.*+!_,<>=~\s-]*+)?\)?"  # versions
    r"\s*+(?:;[^\\$`]*)?",  # marker
    re.ASCII,
)
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_PLACES = re.compile(r"^\.{0,2}/|^~|^[A-Za-z]:\\|\.(?:whl|zip|tar\.\w+)$")
_INSTEAD = "write the package's name and versions, as httpx>=0.28"


def parse_requirements(text: str) -> list[str]:
    """The requirements without comments, sorted, each once; Refused with every line that is no plain one."""
    if len(text) > MOST_LINES * LONGEST_LINE:
        message = f"is over {MOST_LINES * LONGEST_LINE:,} characters"
        raise Refused([Problem(path="requirements", message=message)], "the requirements")
    lines = text.splitlines()
    problems = []
    if len(lines) > MOST_LINES:
        problems.append(Problem(path="requirements", message=f"has more than {MOST_LINES} lines"))
    found = set()
    for number, line in enumerate(lines[:MOST_LINES], start=1):
        plain = _COMMENT.sub("", line).strip()
        if not plain:
            continue
        refusal = _refusal(plain)
        if refusal is None:
            found.add(plain)
        else:
            requirement = plain[:80] if "://" not in plain else plain.split("://", 1)[0][-40:] + "://…"
            problems.append(
                Problem(
                    path=f"requirements, line {number}", message=f"{requirement!r} {refusal}", hint=_INSTEAD
                )
            )
    if problems:
        raise Refused(problems, "the requirements")
    return sorted(found)


def _refusal(line: str) -> str | None:
    if len(line) > LONGEST_LINE:
        return f"is longer than {LONGEST_LINE} characters"
    if line.startswith("-"):
        return f"is an option of pip ({line.split('=')[0].split()[0]}), not a requirement"
    if "git+" in line or "://" in line or re.search(r"\s@\s*|\w@\w", line.split(";")[0]):
        return "names an address; only packages of the index can be installed"
    if _PLACES.search(line.split(";")[0].strip()):
        return "names a file; only packages of the index can be installed"
    return None if _PLAIN.fullmatch(line) else "is not a requirement"
