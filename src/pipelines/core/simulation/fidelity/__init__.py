"""Recordings of real backends: how close a simulated one comes to them, and what is to be learnt from them.

Enter at `fidelity` (replay, call by call) and `examples` (calls chosen for variety, with their records).
"""
