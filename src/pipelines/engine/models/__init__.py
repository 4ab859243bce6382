"""Which model is asked for which purpose, what that costs, and what models do in a run: answer for a tool,
play the user, serve uploaded code. Enter at `choose_model`.
"""
