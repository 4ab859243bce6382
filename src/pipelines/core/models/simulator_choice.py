"""Who answers the simulated tools of an agent, as its config says it."""

AUTO = "auto"  # plans, and a model for what they do not cover, where one is configured
EMBEDDED = "embedded"  # plans alone: no model is asked
MODEL = "model"  # a model, for every tool that is not passed through
CHOICES = (AUTO, EMBEDDED, MODEL)
