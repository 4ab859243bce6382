"""Settings of a server, each in one table with its default and meaning."""
