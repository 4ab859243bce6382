"""The simulated user of a conversation: what it may know, what it is asked, and what is wrong with its words.

All of it is values. Who asks the model, and what becomes of the run, is engine/models/simulated_user.py.
"""
