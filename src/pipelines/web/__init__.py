"""Pages as text: templates, static files, how values are written in them. No decisions, no I/O."""
