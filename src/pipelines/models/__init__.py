"""Asking models for JSON: one protocol, real providers behind it, and stand-ins for tests.

Enter through `open_model`. `provider` asks all real providers; the table of their names and keys is
`core/models/providers.py`. Whom to ask, what it may cost and what is stored of it is the engine's
(`engine/model_calls`). Nothing heavy is imported before the first question: a server without models starts as
fast as before.
"""
