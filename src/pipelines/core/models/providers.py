"""The providers of models that Odyssey knows by name, and the key that each needs.

A server that is reached by its URL is no provider here. `models/provider.py` sends the questions, through
pydantic-ai, which knows each of these providers by the same name.
"""

from collections.abc import Mapping

#: Of each provider: the variable, or the org's credential, that holds its key. It needs nothing else.
KEY_VARIABLES: Mapping[str, str] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "alibaba": "ALIBABA_API_KEY",
    "cerebras": "CEREBRAS_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "moonshotai": "MOONSHOTAI_API_KEY",
    "nebius": "NEBIUS_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "ovhcloud": "OVHCLOUD_API_KEY",
    "sambanova": "SAMBANOVA_API_KEY",
    "together": "TOGETHER_API_KEY",
    "zai": "ZAI_API_KEY",
}
