"""The oracle that a run proves: what it changed, which writes it made, which values its answer told.

Enter by `propose_oracle.proposed_oracle`. Nothing here judges; a person accepts what is proposed.
"""
