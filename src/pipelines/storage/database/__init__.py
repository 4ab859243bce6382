"""Connections, commits and migrations: SQLite and Postgres behind one set of statements.

Enter through `database`. `migrations` has the tables, `records` how a record becomes a row.
"""
