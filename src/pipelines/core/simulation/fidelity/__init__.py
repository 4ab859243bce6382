"""How close a simulated backend comes to a recorded one."""
