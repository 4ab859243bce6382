"""What work that is no batch may spend on models, and what it has: there before its first question.

A seed session is stored once it has a world; what asking for that cost is counted here meanwhile.
"""

from dataclasses import dataclass

from pipelines.core.models.model_budget import Budget
from pipelines.core.models.model_question import cost_usd
from pipelines.core.text.json_text import JsonObject
from pipelines.storage.database.connection import Connection, insert
from pipelines.storage.runs.model_exchanges import Spent, costs_of_budget


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSpending:
    """Counts are of what is known; `unpriced` questions may have cost something."""

    budget: Budget
    tokens: int  # with what is reserved for questions under way
    nanousd: int
    model: str | None  # that was asked last
    questions: int
    replayed: int
    unpriced: int
    spent_tokens: int
    spent_nanousd: int

    @property
    def spent(self) -> Spent:
        return Spent(self.tokens, self.nanousd, self.budget.max_tokens, self.budget.max_nanousd)

    def as_json(self) -> JsonObject:
        is_known = self.questions > self.unpriced or not self.questions
        return {
            "model": self.model,
            "questions": self.questions,
            "replayed": self.replayed,
            "unpriced": self.unpriced,
            "tokens": self.spent_tokens,
            "cost_usd": cost_usd(self.spent_nanousd) if is_known else None,
            "budget": self.budget.as_json() | {"used_up": self.spent.is_used_up},
        }


def add_budget(connection: Connection, *, org_id: int, budget: Budget, now: str) -> int:
    limits = {"max_cost_nanousd": budget.max_nanousd, "max_model_tokens": budget.max_tokens}
    return insert(connection, "model_budgets", {"org_id": org_id, **limits, "created_at": now})


def set_budget(connection: Connection, *, budget_id: int, budget: Budget) -> None:
    connection.execute(
        "UPDATE model_budgets SET max_cost_nanousd = ?, max_model_tokens = ? WHERE id = ?",
        (budget.max_nanousd, budget.max_tokens, budget_id),
    )


def spending_of(connection: Connection, budget_id: int) -> ModelSpending:
    row = connection.execute("SELECT * FROM model_budgets WHERE id = ?", (budget_id,)).fetchone()
    last = connection.execute(
        "SELECT model FROM model_exchanges WHERE budget_id = ? ORDER BY id DESC LIMIT 1", (budget_id,)
    ).fetchone()
    costs = costs_of_budget(connection, budget_id)
    return ModelSpending(
        budget=Budget(max_nanousd=row["max_cost_nanousd"], max_tokens=row["max_model_tokens"]),
        tokens=row["model_tokens"],
        nanousd=row["model_cost_nanousd"],
        model=last[0] if last is not None else None,
        questions=sum(each.questions for each in costs),
        replayed=sum(each.replayed for each in costs),
        unpriced=sum(each.unpriced for each in costs),
        spent_tokens=sum(each.tokens for each in costs),
        spent_nanousd=sum(each.nanousd for each in costs),
    )
