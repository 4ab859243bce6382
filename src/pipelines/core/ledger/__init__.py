"""The world of a run: its records, the schema they follow, and what a call or a reply changes in them.

Enter through `ledger` (records and updates) and `ledger_schema`.
"""
