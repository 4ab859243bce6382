"""A request for a seed session: the agent, the size of the world, and the buckets of rows.

Only what an author writes is read here. What the world and the rows are is core.worlds'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from pipelines.core.models.model_budget import FIELDS as BUDGET_FIELDS
from pipelines.core.models.model_budget import Budget, read_budget
from pipelines.core.tasks.seed_limits import LONGEST_BEHAVIOR
from pipelines.core.text.authored import Fields, as_list, as_object, kind, quote_names
from pipelines.core.text.json_text import Json, JsonObject, pointer
from pipelines.core.text.problems import Problem, Refused
from pipelines.core.text.world_time import read_now
from pipelines.wire.records import Record, one_of

WORLD_REVIEW = "world_review"  # the world may be changed
ROWS_GENERATING = "rows_generating"  # it is frozen, and rows are made
ROWS_REVIEW = "rows_review"  # rows may be dropped, or made anew
FINALIZED = "finalized"  # it is a dataset
ABANDONED = "abandoned"
STATUSES = (WORLD_REVIEW, ROWS_GENERATING, ROWS_REVIEW, FINALIZED, ABANDONED)
SessionStatus: TypeAlias = Annotated[str, one_of(STATUSES)]

SIZES = ("compact", "standard", "rich")
STANDARD = "standard"
EMBEDDED, MODEL = "embedded", "model"
AUTHORS = (EMBEDDED, MODEL)
SessionAuthor: TypeAlias = Annotated[str, one_of(AUTHORS)]
#: What a session can make of a seed, by axis name. The first two it always makes.
ALWAYS_MADE = ("user_instruction", "initial_state")
AXES = (*ALWAYS_MADE, "failure_rules", "expected_outcome", "behavior_instructions")
_FIELDS = (
    *("agent_id", "name", "size", "instructions", "behavior", "axes", "buckets", "author", "rng_seed"),
    *("now", *BUDGET_FIELDS),
)
NO_BUDGET = Budget()
LONGEST_NAME = 255
LONGEST_INSTRUCTIONS = 20_000
LONGEST_PROMPT = 4_000
LONGEST_BUCKET, LONGEST_THEME = 100, 1_000
MOST_BUCKETS = 20
MOST_ROWS = 1_000  # of a session: each is replayed, and people look through them
MOST_RNG_SEED = 2**53 - 1  # what every JSON reader keeps exact


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketRequest(Record):
    """A theme and how many rows are wanted of it."""

    name: str
    theme: str
    rows: int


#: Where nobody names any: what can be done, what must be refused, and what goes wrong on the way.
DEFAULT_BUCKETS = tuple(
    BucketRequest(name=name, theme=name, rows=rows)
    for name, rows in (("everyday requests", 10), ("not allowed", 6), ("backend trouble", 4))
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionRequest:
    agent_id: int
    name: str
    size: str
    instructions: str | None  # what the world should be like, in the author's words
    behavior: str | None  # the backend's rules: of every row, never sent to the agent
    axes: tuple[str, ...]
    buckets: tuple[BucketRequest, ...]
    are_buckets_chosen: bool  # by us, since none were named
    author: str
    rng_seed: int | None
    now: str | None  # what time it is in the world, as a UTC timestamp
    budget: Budget = NO_BUDGET  # for a model as the author


def read_session_request(body: JsonObject) -> SessionRequest:
    """The request, or Refused with everything wrong with it."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(_FIELDS)
    agent_id = fields.id("agent_id", "an agent")
    fields.require("name", "what the dataset will be called")
    behavior = _read_behavior(fields)
    buckets = _read_buckets(fields)
    request = SessionRequest(
        agent_id=agent_id or 0,
        name=fields.text("name", longest=LONGEST_NAME) or "",
        size=fields.choice("size", SIZES, STANDARD) or STANDARD,
        instructions=_blank_is_none(
            fields.text("instructions", longest=LONGEST_INSTRUCTIONS, may_be_blank=True)
        ),
        behavior=behavior,
        axes=_read_axes(fields, has_behavior=behavior is not None),
        buckets=buckets or DEFAULT_BUCKETS,
        are_buckets_chosen=not buckets,
        author=fields.choice("author", AUTHORS, EMBEDDED) or EMBEDDED,
        rng_seed=read_rng_seed(fields),
        now=read_now(fields),
        budget=read_budget(fields),
    )
    if request.budget and request.author != MODEL:
        hint = f'leave it out, or take "author": "{MODEL}"'
        given = next(name for name in BUDGET_FIELDS if fields.has(name))
        fields.refuse(given, f"`{given}` limits a model, and the author is `{request.author}`", hint)
    if problems:
        raise Refused(problems, "the session")
    return request


def read_rng_seed(fields: Fields) -> int | None:
    if not fields.has("rng_seed"):
        return None
    return fields.whole_number("rng_seed", 0, least=0, most=MOST_RNG_SEED)


def read_prompt(body: JsonObject) -> str:
    """Of a refinement."""
    problems: list[Problem] = []
    fields = Fields(body, "", problems)
    fields.refuse_unknown(("prompt", "revision"))
    fields.require("prompt", 'a sentence, such as "add 3 cancelled orders"')
    prompt = fields.text("prompt", longest=LONGEST_PROMPT)
    if problems or prompt is None:
        raise Refused(problems, "the refinement")
    return prompt.strip()


def _read_behavior(fields: Fields) -> str | None:
    text = _blank_is_none(fields.text("behavior", may_be_blank=True))
    if text is not None and len(text.encode("utf-8", "surrogatepass")) > LONGEST_BEHAVIOR:
        fields.refuse("behavior", f"`behavior` has more than {LONGEST_BEHAVIOR:,} bytes")
    return text


def _blank_is_none(text: str | None) -> str | None:
    return text if text is not None and text.strip() else None


def _read_axes(fields: Fields, *, has_behavior: bool) -> tuple[str, ...]:
    """In their one order; without any named, all there is something for."""
    if not fields.has("axes"):
        return AXES if has_behavior else AXES[:-1]
    named = fields.texts("axes")
    for name in named:
        if name not in AXES:
            fields.refuse("axes", f"a session cannot generate `{name[:80]}`", f"one of {quote_names(AXES)}")
    for name in ALWAYS_MADE:
        if name not in named:
            fields.refuse("axes", f"`{name}` is missing: every session generates it")
    if has_behavior and "behavior_instructions" not in named:
        hint = "add it to `axes`, or remove `behavior`"
        fields.refuse(
            "axes", "`behavior` is given, but `axes` does not include `behavior_instructions`", hint
        )
    return tuple(name for name in AXES if name in named)


def _read_buckets(fields: Fields) -> tuple[BucketRequest, ...]:
    if not fields.has("buckets"):
        return ()
    listed = as_list(fields.get("buckets"), fields.at("buckets"), fields.problems, "`buckets`") or []
    if not listed:
        fields.refuse("buckets", "`buckets` is empty", "leave `buckets` out to get the default ones")
    if len(listed) > MOST_BUCKETS:
        fields.refuse("buckets", f"`buckets` has {len(listed)} entries; at most {MOST_BUCKETS} are allowed")
        return ()
    read = [
        _read_bucket(entry, fields.at("buckets") + pointer([at]), fields.problems)
        for at, entry in enumerate(listed)
    ]
    buckets = tuple(bucket for bucket in read if bucket is not None)
    _check_together(buckets, fields)
    return buckets


def _read_bucket(entry: Json, path: str, problems: list[Problem]) -> BucketRequest | None:
    body = as_object(entry, path, problems, "a bucket")
    if body is None:
        return None
    fields = Fields(body, path, problems)
    fields.refuse_unknown(("name", "theme", "rows"))
    fields.require("name")
    fields.require("rows", "how many are wanted")
    name = fields.text("name", longest=LONGEST_BUCKET)
    theme = fields.text("theme", longest=LONGEST_THEME, may_be_blank=True)
    rows = fields.whole_number("rows", 1, least=1, most=MOST_ROWS)
    if name is None:
        return None
    return BucketRequest(name=name.strip(), theme=(theme or "").strip() or name.strip(), rows=rows)


def _check_together(buckets: Sequence[BucketRequest], fields: Fields) -> None:
    names = [bucket.name.casefold() for bucket in buckets]
    for at, name in enumerate(names):
        if name in names[:at]:
            place = fields.at("buckets") + pointer([at, "name"])
            message = f"two buckets are called `{buckets[at].name}`"
            fields.problems.append(Problem(path=place, message=message))
    rows_wanted = sum(bucket.rows for bucket in buckets)
    if rows_wanted > MOST_ROWS:
        fields.refuse(
            "buckets", f"the buckets ask for {rows_wanted:,} rows; a session has at most {MOST_ROWS:,}"
        )


def read_only_revision(body: JsonObject) -> int | None:
    """Of a request that may say nothing else."""
    problems: list[Problem] = []
    Fields(body, "", problems).refuse_unknown(("revision",))
    if problems:
        raise Refused(problems, "the request")
    return read_revision(body.get("revision"))


def read_revision(value: Json, path: str = "/revision") -> int | None:
    """The revision that somebody has looked at, where they say so."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31:
        return value
    message = f"must be the number of a revision, not {kind(value)}"
    raise Refused([Problem(path=path, message=message)], "the request")
