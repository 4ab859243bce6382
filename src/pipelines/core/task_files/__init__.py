"""Tasks as people send them: CSV, YAML, JSON and suite files, with a preview and warnings before the upload.

Enter through `read_tasks` and `suite_file`.

    file_formats <- table_layout, task_table    which format a file has; a CSV table
    task_rows                                   rows of all formats
    column_naming                               which column a name is; unknown, renamed and ignored names
    read_tasks                                  rows as seeds, all problems collected
    upload_preview, upload_warnings             what an author sees before and after an upload
"""
