"""Words and shapes that cross the network. Standard library only; imports nothing of ours.

`errors` has the errors, each with its code and text; `names` the words of the contract.
"""
