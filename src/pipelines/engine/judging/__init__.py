"""Verdicts on runs: by evidence, by a judge model, by an oracle that a person accepts.

Enter at `judge_run`.
"""
