"""Worlds, changes of worlds and rows written by a model: what it is told, what it must answer, and what of
that is let in.

Nothing here asks anybody; the engine does. What is let in is only a draft: a world is checked like one that
somebody pastes, and a row is proved like one that the embedded author drafts.
"""
