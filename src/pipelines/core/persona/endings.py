"""What ended a conversation, in words."""

ENDED_BY = {
    "user": "the user had nothing more to say",
    "user_keyword": "the user's message contained the keyword",
    "agent_keyword": "the agent's message contained the keyword",
    "max_turns": "max_turns was reached",
    "agent_failed": "the agent failed",
    "budget": "the batch's model budget was used up",
    "simulator_fault": "the simulated user made mistakes",
}
