"""Runs whose tools are being called: their state in memory and their calls in order.

Enter at `live_runs`.
"""
