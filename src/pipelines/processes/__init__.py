"""Work that would hold the interpreter for long, done in processes of its own: reading large texts.

`jobs` says what can be asked for, `worker` is the process, `pool` asks it; `aside` is the one thread for what
is too small for a process. Knows nothing of HTTP and storage.
"""
