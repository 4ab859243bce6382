"""One task: its seed, what makes two tasks the same, how it goes on after its first turn, and its columns.

Enter through `seed`. Files of tasks are read in `core/task_files`.
"""
