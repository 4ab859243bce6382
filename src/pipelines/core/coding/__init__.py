"""Coding tasks: scenarios, scorers, the agent's change to a workspace, and its grading."""
