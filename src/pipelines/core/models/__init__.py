"""Models that the platform asks: their names, budgets, usage, and what one question to them holds.

Enter through `model_question` and `model_names`. The clients are in the top room `models`.
"""
