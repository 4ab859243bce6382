"""Plans from recordings: what a real backend did, as plans in our own language. Enter through `workbench`.

`learn(recording, tools, clock=…)` gives `LearnedPlans`. For each tool, a search finds the shortest plan that
explains its calls, cross-validation compares it with the plan that reading gives, and the better one is kept
with its reason. Nothing here does I/O, asks a clock of its own or uses chance.

names, numbering <- scene (what can be seen) <- growth, related (terms) <- found, guards, search (the shortest
expression) <- numbers, texts, records, predicates, lists, drawn (by the kind of the values) <- makers <-
changes (what a call changes) <- draft (the plan) <- tool_search (one tool) <- trial, choice (which plan is
kept) <- workbench (a recording)
"""

from pipelines.core.simulation.learning.learned import (
    Candidate,
    LearnedPlans,
    LearnedTool,
    Options,
    UnexplainedCall,
)
from pipelines.core.simulation.learning.workbench import Workbench, learn

__all__ = ["Candidate", "LearnedPlans", "LearnedTool", "Options", "UnexplainedCall", "Workbench", "learn"]
