"""Sentences that change a world.

The grammar of the published language reads them (`sentences`). Enter at `refine.refine`.
"""
