"""Plans that a model proposes for tools without a good one: asked for, tried, measured, and shown to a
person.

Nothing here applies a plan: a person who accepts one stores it as the tool's `simulation`.
"""
