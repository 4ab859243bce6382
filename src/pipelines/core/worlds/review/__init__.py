"""What a person should look at in a world, and what is wrong with one that was pasted."""
