"""Pages as text: templates, static files, how values are written in them. No decisions, no I/O.

Enter through `render`. A template has the name of its page, or of what several pages share: `runs_table.html`
is the table of runs, `components.html` what all pages use.
"""
