"""Scenarios and variations: what is asked, under which pressure, and what is expected.

Enter through `scenario` and `variation`.
"""
