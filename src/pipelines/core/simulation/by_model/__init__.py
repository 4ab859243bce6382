"""Calls that no plan covers are answered by a model: its question, the schema of its answer, and the checks.
No I/O here: a call becomes a `ModelCall`, which the engine carries out.
"""
