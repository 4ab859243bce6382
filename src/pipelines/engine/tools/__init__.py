"""What simulated tools do: plans and rules, read, proposed by a model, tried."""
