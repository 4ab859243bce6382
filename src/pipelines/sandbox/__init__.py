"""Running other people's code: isolation, limits, dependency environments.

`job` says what goes in and out, `pool` runs it, `environments` installs what it requires, `probe` tells
whether code can be isolated on this machine.
"""
