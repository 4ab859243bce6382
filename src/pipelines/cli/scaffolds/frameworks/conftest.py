"""Tests never ask a real model: keys are taken away before the agent is imported."""

import os

for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AGENT_MODEL"):
    os.environ.pop(name, None)
