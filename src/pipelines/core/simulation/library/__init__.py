"""What the functions of a plan do, by what they work on; the table of them all is
`core/simulation/syntax/functions.py`."""
