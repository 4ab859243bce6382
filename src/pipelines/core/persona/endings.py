"""What ended a conversation, in words."""

ENDED_BY = {
    "user": "the user had nothing more to say",
    "user_keyword": "the keyword stood in the user's words",
    "agent_keyword": "the keyword stood in the agent's words",
    "max_turns": "max_turns were said",
    "agent_failed": "the agent failed",
    "budget": "the batch's budget for models was used up",
    "simulator_fault": "the simulated user went wrong",
}
