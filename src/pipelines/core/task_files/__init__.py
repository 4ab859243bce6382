"""Tasks as people send them: CSV, YAML, JSON and suite files, with a preview and warnings before the upload.

Enter through `read_tasks` and `suite_file`.
"""
