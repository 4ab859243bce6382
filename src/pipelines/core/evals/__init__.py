"""Evals: scenarios run under pressure, and how far the agent moved. Pure decisions, no I/O."""
