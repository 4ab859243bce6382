"""Models that the platform asks: their names, budgets, usage, and what one question to them holds.

Enter through `model_question` and `model_names`. `providers` is the table of providers and their keys. The
clients that send a question are in the top room `models`.
"""
