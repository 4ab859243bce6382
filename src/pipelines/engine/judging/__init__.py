"""Verdicts: by oracles, by a judge model, by a person who accepts a run. Enter at `judge_run`."""
