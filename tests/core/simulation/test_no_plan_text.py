"""No module of core/simulation builds an expression of the plan language as text, or cuts one with string
methods: expressions are nodes (`core/simulation/expr`) until a whole plan is written down."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipelines.core.simulation
from pipelines.core.simulation.syntax.functions import FUNCTIONS

ROOM = Path(pipelines.core.simulation.__file__).parent
#: Folders and modules that may, and why.
ALLOWED = {
    "expr/": "the one parser and the one printer",
    "syntax/": "the compiler: it reads what authors write",
    "emit/": "writes Python, not plans",
    "expression_text.py": "from the text of an expression to Python's tree",
    "library/": "the functions of the language, with their signatures and examples",
    "plan_checker.py": "the compiler: it reads what authors write, and shows how to write it",
    "plan_verbs.py": "the compiler: it reads what authors write, and shows how to write it",
    "proposed_plans/prompt.py": "a prompt that teaches the language to a model",
    "rules/language/": "writes and reads English sentences, which have `and` and `more than` in them",
    "rule_translation/prompt.py": "a prompt for models",
    "rules/trial.py": "says in words what a rule was tried on",
}
TOLD = frozenset(("Problem", "Complaint", "message", "problem"))  # what is told to people is no plan
HOLE = "\0"
_SIGNS = re.compile(rf"{HOLE} (?:[=!<>]=|[<>+*/%-]|\*\*|//) |(?<=\S) (?:[=!<>]=|[<>+*/%-]|\*\*|//) {HOLE}")
_CALLS = re.compile(rf"(?<![\w.`])(?:{'|'.join(map(re.escape, FUNCTIONS))})\((?!\))")
_ARGUMENTS = re.compile(r"(?:(?<!\w)|(?<=\\b))args(?:\\?[.\[]|\\b)")  # of a pattern, too
#: A sign of the language in any text, and a whole text that only joins or denies values.
_COMPARED = re.compile(r"(?:^ |(?<=[\w)\]}\]] ))[=!<>]=(?: $|(?= [\w({'\[%]))")
_JOINED = re.compile(rf"\(?{HOLE}\)? (?:and|or|in|not in) \(?{HOLE}\)?|not \({HOLE}\)")
_WRITERS = ("written", "to_text")
_QUOTED = re.compile(r"'[^'\s][^']*'|''")
_TEMPLATE = re.compile(rf"(?<!\{{)\{{{HOLE}\}}")
_CUTS = (
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "split",
    "replace",
)
_BORDERS = (".", "(", " ", "'")  # of a path, a call, an operand, a literal


def complaints(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Lines where plan text is built or cut, with what gives it away."""
    skipped = {id(inner) for node in ast.walk(tree) if _is_told(node) for inner in ast.walk(node)}
    skipped |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    skipped |= {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for found in (_built(node), _cut(node)):
            if found is not None:
                yield node.lineno, found  # type: ignore[attr-defined]


def _is_told(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in TOLD
    if isinstance(node, ast.Assign):
        return [getattr(one, "id", "") for one in node.targets] in (["hint"], ["message"])
    return isinstance(node, (ast.Raise, ast.Assert))


def _text(node: ast.AST) -> str | None:
    """With a sign in the place of each value of an f-string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)  # type: ignore[misc]
    return None


def _built(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join":
        return "joined with `and`" if _text(node.func.value) == " and " else None
    text = _text(node)
    if text is None:
        return None
    if found := _CALLS.search(text):
        return f"calls {found[0][:-1]}"
    if _ARGUMENTS.search(text):
        return "reads args"
    is_joined = text.strip("()") == f"{HOLE} {HOLE} {HOLE}" or _JOINED.fullmatch(text)
    if is_joined or _SIGNS.search(text) or _COMPARED.search(text):
        return "compares or reckons with a value"
    if _QUOTED.fullmatch(text):
        return "literal text with quotes of its own"
    return "a message with a value in it" if _TEMPLATE.search(text) else None


def _is_written(node: ast.AST) -> bool:
    """An expression as text."""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") in _WRITERS


def _cut(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of_re = getattr(node.func.value, "id", "") == "re" and any(map(_is_written, node.args))
        if of_re or (_is_written(node.func.value) and node.func.attr in _CUTS):
            return "looks into the text of an expression"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CUTS:
        border = _text(node.args[0]) if node.args else None
        is_border = border is not None and border.endswith(_BORDERS) and border.strip() not in ("", ".", "(")
        return f"{node.func.attr} at {border!r}" if is_border else None
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        right = node.comparators[0]
        is_text = _is_written(right) or getattr(getattr(right, "func", None), "id", "") == "str"
        return "looks into the text of something" if is_text else None
    if isinstance(node, ast.ImportFrom) and node.module == "pipelines.core.text.python_tree":
        return "asks Python's parser, and not `expr.parse`"
    return None


def modules() -> list[str]:
    found = sorted(path.relative_to(ROOM).as_posix() for path in ROOM.rglob("*.py"))
    return [name for name in found if not name.startswith(tuple(ALLOWED))]


@pytest.mark.parametrize("name", modules())
def test_no_module_builds_or_cuts_plan_text(name: str) -> None:
    assert [*complaints(ast.parse((ROOM / name).read_text()))] == []


def test_what_is_allowed_is_there() -> None:
    assert [name for name in ALLOWED if not (ROOM / name).exists()] == []


BUILT = [
    'require(f"{given} > 0", positive)',
    'where = f"{place} != null"',
    'chosen = f"{dot(noun, own)} == {id}"',
    'changes = {place: f"{place} - {given}"}',
    'x = f"default({place}, 0) {sign} {given}"',
    'x = f"[one for one in {held} if one != {given}]"',
    'x = f"({left} {sign} {right})"',
    'where = " and ".join(conditions)',
    'x = f"len({many.listed()})"',
    'id = f"id_of({noun})"',
    'step = {"return": "\'sent\'"}',
    'step = {"return": "\'\'"}',
    'x = dot("args", "name") + f"args.{name}"',
    'refusal("not_enough", f"Only {{{place}}} is left")',
    'x = f"not ({need})"',
    'x = f"{one} in {others}"',
    'x = f"({one}) or ({other})"',
    "x = f\"order.status == '{value}'\"",
    'x = one + " == " + other',
    'x = "%s == %s" % (one, other)',
    'x = "{} == {}".format(one, other)',
    "x = \"order.status == 'pending'\"",
    'require("giver.id != taker.id", same) or f"{one} or {two} >= {three}"',
]
CUT = [
    'path = term.text.removeprefix("each.")',
    'mine = term.text.startswith(f"{base}.")',
    'conditions.sort(key=lambda condition: condition.startswith("lower("))',
    'literal = id.startswith("\'")',
    'mine = one.startswith(f"{place} ")',
    "barred = \"'add': \" in str(drafted.steps)",
    'whole = re.search(r"\\bargs\\b(?![.\\[])", text)',
    'x = text.replace("each.", "one.")',
    'm = re.match(r"(\\w+) == (.+)", text)',
    'm = re.findall(r"[a-z]+", to_text(need))',
    'b = to_text(need).startswith("order")',
    'b = "order" in written(need)',
    "from pipelines.core.text.python_tree import expression_tree",
]
FINE = [
    '"""`x == null`, as the plan has it: len(args.items)."""',
    "require(compare(given, '>', Constant(0)), positive)",
    'note = f"`{name}` is taken for `{way}`: nothing else leads there"',
    'message("There is already one with ", own_id)',
    'raise ValueError(f"{one} != {other}")',
    'Problem(path=path, message=f"is {one}, but len(args) is {two} > 0")',
    'pattern = re.compile(rf"(?<![\\w-]){word}(?![\\w-])")',
    'path = f"{path}/{name}"',
    'shown = " or ".join(states)',
    'told = f"{status} {code}: {why}"',
    'word = verb.removeprefix("un")',
    'parts = reference.removeprefix("#").split("/")',
]


@pytest.mark.parametrize("source", [*BUILT, *CUT])
def test_plan_text_is_found(source: str) -> None:
    assert [*complaints(ast.parse(source))]


@pytest.mark.parametrize("source", FINE)
def test_what_is_no_plan_text_is_left_alone(source: str) -> None:
    assert [*complaints(ast.parse(source))] == []
