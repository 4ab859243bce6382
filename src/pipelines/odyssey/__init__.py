"""The SDK that agent authors install: an agent becomes one that the platform can dispatch to."""
