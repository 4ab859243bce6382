"""What tests of several rooms share: servers to talk to, agents and services to play, samples to look at."""
