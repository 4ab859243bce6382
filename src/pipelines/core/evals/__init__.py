"""The eval library: does an agent still do the right thing under pressure?

Pure functions: no model, clock, file or shared random state. Of the scoring, imports point down this list:

    scenarios/ leaf_kind <- contract        what of an answer counts: leaves, kinds, decisions, weights
    scoring/   observed                     what the agent did, read from its answer or from its calls
               match_score                  the answer against what was expected
               leaf_distance, text_shift    how far two values, two texts are apart
               shift                        how far two answers are apart, and in which fields
    matrix/    resampling                   permutation, bootstrap and sign-flip: chance without a generator
               row_outputs                  the outputs of one scenario, each distinct pair compared once
               cell_record <- cell_verdict  what is known of a cell, and what it comes to
               cell <- report               the numbers of a cell; the whole matrix
"""
