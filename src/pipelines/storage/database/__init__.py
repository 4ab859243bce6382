"""Connections, commits and migrations: SQLite and Postgres behind one set of statements."""
