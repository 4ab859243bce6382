"""Plans from recordings: what a real backend did becomes plans in our own language.

Enter through `learn(recording, tools, clock=…)`, which gives `LearnedPlans`. For each tool, a search finds the
shortest plan that explains its calls (`tool_search`), cross-validation compares it with the plan that reading
gives (`choice`), and the better one is kept with its reason. Nothing here does I/O, asks a clock of its own or
uses chance.
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
