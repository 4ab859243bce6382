"""Coding scenarios, runs of agents in a workspace, and the grading of what they changed.

Enter at `edit_coding_scenarios`, `run_workspace` and `score_workspace`.
"""
