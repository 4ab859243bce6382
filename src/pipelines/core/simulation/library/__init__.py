"""What the functions of a plan do, by what they work on; the table of them all is in `functions`."""
