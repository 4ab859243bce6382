"""Tasks as people send them: CSV, YAML, JSON and suite files, with a preview and warnings before the upload.

Enter through `read_tasks` and `suite_file`.

    column_naming                    which column a name is; unknown, renamed and ignored names
    task_rows                        rows of every format, by column
    table_layout <- task_table       a CSV table: its header, and its rows
    file_formats                     which format a file has
    read_tasks                       rows as seeds, all problems collected
    upload_warnings, upload_preview  what an author sees before an upload
"""
