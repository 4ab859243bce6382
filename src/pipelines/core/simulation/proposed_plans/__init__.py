"""Plans that a model proposes for the tools of an agent: asked for in one conversation, tried, measured
against a recording, and shown to a person.

Enter at `conversation` (the questions), `plan_trial` (what comes of an answer) and `proposal` (what a person
sees). Nothing here applies a plan: a person who accepts one stores it as the tool's `simulation`.
"""
