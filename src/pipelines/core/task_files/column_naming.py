"""How the names in a file map to columns: some are renamed, some ignored, some required, some unknown.

The messages about names are at the end. The file itself is not changed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pipelines.core.tasks.task_columns import BY_NAME, REQUIRED, Column, column_of
from pipelines.core.text.authored import did_you_mean, quote_names
from pipelines.core.text.json_text import Json, JsonObject
from pipelines.core.text.problems import Problem

MOST_SAID = 200  # renames, and names left out: more than any file has columns


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnNaming:
    renames: Mapping[str, str] = field(default_factory=dict)  # a name of the file → the column it is
    left_out: frozenset[str] = frozenset()  # names of the file, or of columns, that are not read
    needed: tuple[str, ...] = ()  # columns that a file without them is refused for

    def column_of(self, name: str) -> Column | None:
        """None for a name that is no column's, and for one that is left out."""
        if self.is_left_out(name):
            return None
        renamed = self.renames.get(name)
        return BY_NAME.get(renamed) if renamed is not None else column_of(name)

    def is_left_out(self, name: str) -> bool:
        if not self.left_out:
            return False
        column = BY_NAME.get(self.renames[name]) if name in self.renames else column_of(name)
        if column == REQUIRED:
            return False
        return name in self.left_out or (column is not None and column.name in self.left_out)

    def missing(self, found: Collection[str]) -> Iterator[Problem]:
        """Columns that must be there, and are not."""
        for name in self.needed:
            if name not in found:
                yield Problem(
                    path=f"column {name}",
                    column=name,
                    message=f"the column `{name}` is switched on, but the file does not have it",
                    hint="add it to the file, or switch it off",
                )

    def as_json(self) -> JsonObject:
        renames: JsonObject = dict(self.renames)
        left_out: list[Json] = [*sorted(self.left_out)]
        needed: list[Json] = list(self.needed)
        return {"renames": renames, "left_out": left_out, "needed": needed}

    @classmethod
    def from_json(cls, told: JsonObject) -> "ColumnNaming":
        """What `as_json` wrote."""
        renames, left_out, needed = told["renames"], told["left_out"], told["needed"]
        assert isinstance(renames, dict)
        assert isinstance(left_out, list)
        assert isinstance(needed, list)
        return cls(
            renames={name: str(column) for name, column in renames.items()},
            left_out=frozenset(map(str, left_out)),
            needed=tuple(map(str, needed)),
        )


#: The file speaks for itself.
DEFAULT_NAMING = ColumnNaming()


def unknown_column(path: str, name: str, row: int | None = None, *, has_hint: bool = True) -> Problem:
    """A name that is no column's. The hint is costly: it compares the name with every column."""
    hint = (did_you_mean(name, BY_NAME) or f"the columns are {quote_names(BY_NAME)}") if has_hint else None
    return Problem(path=path, message=f"unknown column `{name[:80]}`", hint=hint, row=row, column=name)


def clash(path: str, column: str, names: Iterable[str], row: int | None = None) -> Problem:
    """Several names of one column."""
    quoted_names = [f"`{name[:80]}`" for name in names]
    listed = f"{', '.join(quoted_names[:-1])} and {quoted_names[-1]}"
    message = f"{listed} all name the column `{column}`"
    return Problem(path=path, message=message, hint="keep one of them", row=row, column=column)


def renamed_note(*pairs: tuple[str, str]) -> str:
    if len(pairs) == 1:
        ((name, column),) = pairs
        return f"The column `{name}` is used as `{column}`."
    listed = ", ".join(f"`{name}` as `{column}`" for name, column in pairs)
    return f"{len(pairs)} columns are renamed: {listed}."


def left_out_note(name: str) -> str:
    return f"The column `{name[:80]}` is left out."
