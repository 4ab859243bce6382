"""Proposes an oracle from a run: what it changed, which writes it made, which values its answer gave.

Enter by `propose_oracle.oracle_from_run`. Nothing here judges; a person accepts the proposal.
"""
