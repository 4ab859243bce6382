"""Plans that a model writes for tools without a good one: asked for, tried, measured, and shown to a person.

Nothing here applies a plan: whoever accepts one keeps it as `simulation` beside its tool.
"""
