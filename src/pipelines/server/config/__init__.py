"""Settings of a server, each with its default and meaning. Their table is in `settings`."""
