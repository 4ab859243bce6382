"""Every decision of the domain as functions over values: no I/O, no clock, no shared chance."""
