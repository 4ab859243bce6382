"""Databases of both kinds, for whoever asks for them."""

from support.both_stores import database as database
from support.both_stores import two_nodes as two_nodes
