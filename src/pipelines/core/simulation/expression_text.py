"""From the text of an expression to a Python syntax tree, and the words for what is wrong with it.

Only the grammar is borrowed from Python: nothing of the tree is ever handed to Python to run.
"""

import ast
import difflib
import io
import keyword
import re
import tokenize
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, cast

from pipelines.core.text.python_tree import expression_tree

MAX_EXPRESSION = 4_000  # characters; a page of text in one expression is a plan that wants steps
MAX_NODES = 1_000
MAX_NESTING = 40  # levels of the tree; evaluation recurses once per level


class Complaint(NamedTuple):
    """What is wrong with an expression, and what to write instead."""

    message: str
    hint: str | None = None


class BadExpression(ValueError):
    def __init__(self, complaint: Complaint) -> None:
        super().__init__(complaint.message)
        self.complaint = complaint


_HINTS: tuple[tuple[str, str], ...] = (
    (r"&&", "write `and`"),
    (r"\|\|", "write `or`"),
    (r"===", "write `==`"),
    (r"(?<![=!<>])=(?!=)", "to compare write `==`"),
    (r"!(?!=)", "write `not`"),
    (r"\?", "write `a if condition else b`"),
    (r"^\s*$", "write an expression; for empty text write ''"),
    (
        r"^[A-Za-z][\w-]*( [\w-]+)+[.!]?\s*$",
        "put text inside the expression in its own quotes: 'some text'",
    ),
)


def parse(text: str) -> ast.expr:
    """The tree of one expression, small enough to be compiled; or BadExpression."""
    if len(text) > MAX_EXPRESSION:
        raise BadExpression(
            Complaint(f"the expression is too long: at most {MAX_EXPRESSION:,} characters are allowed")
        )
    return _check_size(_parse(text))


def parse_within_limits(text: str) -> ast.expr:
    """Likewise for a text of a call, where nobody wants to know what is wrong with it: that takes long."""
    try:
        return _check_size(expression_tree(text.strip()))
    except (SyntaxError, RecursionError, MemoryError):
        raise BadExpression(Complaint("the expression is not valid")) from None


def _check_size(tree: ast.expr) -> ast.expr:
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise BadExpression(Complaint("the expression has too many parts", "split it with `let`"))
    if _nesting(tree) > MAX_NESTING:
        raise BadExpression(Complaint("the expression is nested too deeply", "split it with `let`"))
    return tree


def _parse(text: str) -> ast.expr:
    try:
        return expression_tree(text.strip())
    except SyntaxError as error:
        repaired = _fields_named_like_keywords(text.strip())
        if repaired != text.strip():
            return _parse(repaired)
        raise BadExpression(_syntax_complaint(text, error)) from None
    except (ValueError, RecursionError, MemoryError):
        raise BadExpression(Complaint("the expression is not valid")) from None


def _syntax_complaint(text: str, error: SyntaxError) -> Complaint:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, bare)), None)
    if any(bare.count(opening) != bare.count(closing) for opening, closing in ("()", "[]", "{}")):
        hint = "a bracket is missing; in YAML an expression with a comma inside {…} or […] must be in quotes"
    where = f" (character {error.offset})" if error.offset else ""
    return Complaint(f"not an expression: {error.msg}{where}", hint)


def _fields_named_like_keywords(text: str) -> str:
    """`args.from` as `args['from']`: fields may have names that the grammar keeps for itself."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    found = [
        (before.start[1], token.end[1], token.string)
        for before, token in pairwise(tokens)
        if before.string == "." and keyword.iskeyword(token.string) and token.start[0] == 1
    ]
    for start, end, word in reversed(found):
        text = f"{text[:start]}['{word}']{text[end:]}"
    return text


def _nesting(tree: ast.expr) -> int:
    deepest, level = 0, [cast(ast.AST, tree)]
    while level and deepest <= MAX_NESTING:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, or lists what there is when that is little."""
    choices = sorted(set(known))
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"there is {', '.join(choices)}" if 0 < len(choices) <= 12 else None


_OPENING = re.compile(r"(?<!\{)(?:\{\{)*\{(?!\{)")
_SHOWN_AS = re.compile(r"(.*):(,?\.\df)", re.DOTALL)


def template_parts(text: str) -> list[tuple[str, str | None]]:
    """The literal text of a message and the code in braces after it, in turn."""
    parts: list[tuple[str, str | None]] = []
    while (opening := _OPENING.search(text)) is not None:
        end = _closing_brace(text, opening.end())
        code = text[opening.end() : end].strip()
        template = _SHOWN_AS.fullmatch(code)
        parts.append((text[: opening.end() - 1], f"f'''{{{code}}}'''" if template else code))
        text = text[end + 1 :]
    return [*parts, (text, None)]


def _closing_brace(text: str, start: int) -> int:
    level, quote, is_escaped = 1, "", False
    for at in range(start, len(text)):
        character = text[at]
        if quote:
            quote = "" if character == quote and not is_escaped else quote
            is_escaped = character == "\\" and not is_escaped
        elif character in "'\"":
            quote = character
        elif character in "{}":
            level += 1 if character == "{" else -1
            if level == 0:
                return at
    return len(text)
