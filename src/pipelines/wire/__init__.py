"""Words and shapes that cross the network. Standard library only; imports nothing of ours."""
