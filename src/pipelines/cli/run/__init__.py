"""`pipelines run`: runs tasks on an agent and prints their verdicts."""
