"""Recorded runs: runs made elsewhere, read from four formats into one record that a judge can read.

Enter by `read.read_recording`; `match_tasks` finds the task of each run, `states` what it changed.
"""
