"""Calls that no plan covers, answered by a model: what it is told, what it must answer, and what of that is
let in.

Nothing here asks anybody: a call becomes a `ModelCall`, which the engine carries out.
"""
