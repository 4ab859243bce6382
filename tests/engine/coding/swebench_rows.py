"""Rows in SWE-bench's form, and the repositories they are about: three, with ten bugs mended one commit each.

Made of the table below with fixed names and dates, so that commits have the same ids everywhere.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]


class Bug(NamedTuple):
    module: str
    broken: str  # a line of the module as it stands at first
    mended: str
    told: str  # the issue
    test: str  # the body of the test that tells them apart
    name: str


MODULES = {
    "acme/textkit": {
        "textkit/slugs.py": "import re\n\n\ndef slugify(text):\n    words = re.findall(r'[a-z]+', text.lower())\n"
        "    return '-'.join(words)\n\n\ndef shorten(text, longest):\n"
        "    return text if len(text) <= longest else text[:longest] + '…'\n",
        "textkit/plurals.py": "def plural(count, noun):\n    return f'{count} {noun}' + ('s' if count > 1 else '')\n\n\n"
        "def listed(names):\n    return ', '.join(names)\n",
    },
    "acme/moneykit": {
        "moneykit/cents.py": "def to_cents(text):\n    whole, _, rest = text.partition('.')\n"
        "    return int(whole) * 100 + int(rest or 0)\n\n\ndef shares(cents, people):\n"
        "    return [cents // people] * people\n\n\ndef shown(cents):\n    return f'{cents // 100}.{cents % 100}'\n",
    },
    "acme/graphkit": {
        "graphkit/orders.py": "def in_order(needs):\n    done = []\n\n    def visit(node):\n"
        "        for other in needs.get(node, ()):\n            visit(other)\n        done.append(node)\n\n"
        "    for node in needs:\n        visit(node)\n    return done\n\n\ndef reachable(edges, start):\n"
        "    return set(edges.get(start, ()))\n\n\ndef degree(edges, node):\n    return len(edges[node])\n",
    },
}
BUGS = {
    "acme/textkit": [
        Bug("textkit/slugs.py", "r'[a-z]+'", "r'[a-z0-9]+'", "slugify loses digits: `Area 51` becomes `area`.",
            "assert slugify('Area 51') == 'area-51'", "slugify_keeps_digits"),
        Bug("textkit/slugs.py", "text[:longest] + '…'", "text[: longest - 1] + '…'",
            "shorten gives one character more than asked for.",
            "assert len(shorten('abcdef', 4)) == 4", "shorten_is_no_longer_than_asked"),
        Bug("textkit/plurals.py", "if count > 1", "if count != 1", "`plural(0, 'run')` says `0 run`.",
            "assert plural(0, 'run') == '0 runs'", "none_is_plural"),
        Bug("textkit/plurals.py", "return ', '.join(names)", "return ' and '.join(filter(None, (', '.join(names[:-1]), *names[-1:])))",
            "listed should end with `and`: `a, b and c`.",
            "assert listed(['a', 'b', 'c']) == 'a, b and c'", "the_last_name_comes_after_and"),
    ],
    "acme/moneykit": [
        Bug("moneykit/cents.py", "int(rest or 0)", "int((rest + '00')[:2])", "`to_cents('1.5')` is 105, and should be 150.",
            "assert to_cents('1.5') == 150", "half_a_unit_is_fifty"),
        Bug("moneykit/cents.py", "[cents // people] * people",
            "[cents // people + (place < cents % people) for place in range(people)]",
            "shares loses cents: 100 among 3 comes to 99.",
            "assert sum(shares(100, 3)) == 100", "no_cent_is_lost"),
        Bug("moneykit/cents.py", "{cents % 100}'", "{cents % 100:02d}'", "`shown(105)` says 1.5.",
            "assert shown(105) == '1.05'", "cents_have_two_digits"),
    ],
    "acme/graphkit": [
        Bug("graphkit/orders.py", "    def visit(node):\n", "    def visit(node):\n        if node in done:\n            return\n",
            "in_order lists a node as often as it is needed.",
            "assert in_order({'a': ['c'], 'b': ['c']}) == ['c', 'a', 'b']", "each_node_stands_once"),
        Bug("graphkit/orders.py", "    return set(edges.get(start, ()))\n",
            "    found, todo = set(), [start]\n    while todo:\n        for other in edges.get(todo.pop(), ()):\n"
            "            if other not in found:\n                found.add(other)\n                todo.append(other)\n"
            "    return found\n",
            "reachable stops after one step.", "assert reachable({1: [2], 2: [3]}, 1) == {2, 3}", "what_is_far_is_reached"),
        Bug("graphkit/orders.py", "len(edges[node])", "len(edges.get(node, ()))", "degree fails for a node without edges.",
            "assert degree({}, 'a') == 0", "a_lone_node_has_none"),
    ],
}  # fmt: skip


def make_repositories(folder: Path) -> list[Row]:
    """Bundles as `folder/owner/name.bundle`; answers the rows."""
    return [row for repo in MODULES for row in _make(folder, repo)]


def write_rows(path: Path, rows: list[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _make(folder: Path, repo: str) -> list[Row]:
    tree = folder / "trees" / repo
    package = repo.partition("/")[2]
    for name, text in MODULES[repo].items():
        _put(tree, name, text)
    _put(tree, f"{package}/__init__.py", "")
    _put(tree, "README.md", f"# {package}\n")
    names = ", ".join(sorted({bug.module.rpartition("/")[2].removesuffix(".py") for bug in BUGS[repo]}))
    _put(tree, "tests/test_import.py", f"def test_it_is_imported():\n    from {package} import {names}\n")
    _git(tree, "init", "-q", "-b", "main")
    _commit(tree, "first")
    rows = [_mend(tree, repo, package, number, bug) for number, bug in enumerate(BUGS[repo], 1)]
    bundle = folder / f"{repo}.bundle"
    bundle.parent.mkdir(parents=True, exist_ok=True)
    _git(tree, "bundle", "create", "-q", str(bundle.resolve()), "--all")
    return rows


def _mend(tree: Path, repo: str, package: str, number: int, bug: Bug) -> Row:
    """One commit as projects make them: the fix and its test together."""
    base = _git(tree, "rev-parse", "HEAD").strip()
    source = (tree / bug.module).read_text()
    assert source.count(bug.broken) == 1, f"{bug.module}: {bug.broken}"
    _put(tree, bug.module, source.replace(bug.broken, bug.mended))
    module = bug.module.removesuffix(".py").replace("/", ".")
    path = f"tests/test_{module.rpartition('.')[2]}.py"
    before = (tree / path).read_text() if (tree / path).exists() else f"from {module} import *\n"
    known = [line[4:-3] for line in before.splitlines() if line.startswith("def test_")]
    _put(tree, path, f"{before}\n\ndef test_{bug.name}():\n    {bug.test}\n")
    _commit(tree, bug.told)
    return {
        "instance_id": f"{repo.replace('/', '__')}-{number}",
        "repo": repo,
        "base_commit": base,
        "patch": _git(tree, "diff", base, "HEAD", "--", package),
        "test_patch": _git(tree, "diff", base, "HEAD", "--", "tests"),
        "problem_statement": bug.told,
        "hints_text": "",
        "created_at": "2026-01-05T00:00:00Z",
        "version": "1.0",
        "FAIL_TO_PASS": json.dumps([f"{path}::test_{bug.name}"]),
        "PASS_TO_PASS": json.dumps(
            ["tests/test_import.py::test_it_is_imported", *(f"{path}::{name}" for name in known)]
        ),
        "environment_setup_commit": base,
    }


def _put(tree: Path, name: str, text: str) -> None:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)


def _commit(tree: Path, message: str) -> None:
    _git(tree, "add", "-A")
    _git(tree, "commit", "-q", "-m", message)


def _git(tree: Path, *arguments: str) -> str:
    fixed = {"GIT_AUTHOR_DATE": "2026-01-05T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-05T00:00:00Z"}
    named = {
        f"GIT_{who}_{what}": f"nobody@{who}.example"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    env = {"PATH": os.environ["PATH"], "HOME": str(tree), "GIT_CONFIG_NOSYSTEM": "1"} | fixed | named
    done = subprocess.run(["git", *arguments], cwd=tree, env=env, capture_output=True, text=True, check=True)
    return done.stdout
