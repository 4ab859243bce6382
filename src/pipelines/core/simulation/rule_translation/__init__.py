"""Sentences that a model translates into typed rules: the question, the answer, the trial."""
