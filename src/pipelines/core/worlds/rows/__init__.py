"""Tasks asked of a world: calls that are tried on it, worded as requests that follow a theme.

A row is kept only with proof. Enter at `draft_rows` and `prove_row`.
"""
