"""The simulated user of a conversation: what it may know, its question, and the checks of its words.

No I/O here. Who asks the model, and what becomes of the run, is engine/models/simulated_user.py.
"""
