"""Sentences read from what the world has: each phrase is taken for a kind, field, state or tool there, or for
nothing. A sentence of which a word stands for nothing is not read.
"""
