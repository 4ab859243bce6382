"""`pipelines run`: tasks sent to an agent, watched, and printed with their verdicts."""
