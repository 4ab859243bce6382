"""A support agent that is uploaded as code: rules, the standard library, one file, no server.

    pipelines run --agent examples/code_agent/agent.json --dataset examples/refund_agent/tasks.csv

The platform calls `run` once for each task (for each turn, in a conversation), in a sandbox from which only
the tools of this run can be reached. To port your own agent, keep `Tools` and `run` and put your agent in the
place of `answer`.
"""

import json
import re
import urllib.error
import urllib.request
import uuid

MOST_WITHOUT_A_MANAGER = 500  # this agent's own policy: it does not give back more than this by itself

VERBS = {
    "refund": re.compile(r"\b(refund|money back)", re.IGNORECASE),
    "cancel": re.compile(r"\bcancel", re.IGNORECASE),
    "look up": re.compile(r"\b(where is|status|look up|track)\b", re.IGNORECASE),
}
ORDER_ID = re.compile(r"#?\b(\d{3,})\b")
CLAUSE = re.compile(r"(?:[.;!?]\s+|,\s*|\s+and\s+)")
STOCK = re.compile(r"\bdo you have (?:any )?([\w -]+?)s? (?:in stock|available)", re.IGNORECASE)


def run(task_input, *, proxy_url, run_token):
    """What the platform calls. What is printed is kept with the run."""
    tools = Tools(proxy_url, run_token)
    text = task_input["user_instruction"]
    said = [message for message in task_input.get("messages", []) if message["role"] == "user"]
    earlier = [str(message["content"]) for message in said[:-1]]
    final = answer(tools, text, earlier)
    print(f"{len(tools.messages) // 2} tool calls")
    return {
        "final_response": final,
        "messages": [
            {"role": "user", "content": text},
            *tools.messages,
            {"role": "assistant", "content": final},
        ],
        "metadata": {"model": "rules"},
    }


# ---------------------------------------------------------------------------------------------------------
# The agent: what the user wants, and what to do about it.


def answer(tools, text, earlier):
    stock = STOCK.search(text)
    if stock is not None:
        return check_stock(tools, stock[1])
    wishes = wishes_in(text)
    if not wishes and ORDER_ID.search(text):  # `It is order 4522.` answers our question from before
        verbs = [verb for said in reversed(earlier) for verb, order_id in wishes_in(said) if order_id is None]
        wishes = [(verbs[0], order_id) for order_id in ORDER_ID.findall(text)] if verbs else []
    if not wishes:
        return "I can look up, refund or cancel an order, or check our stock. Which order is it about?"
    return " ".join(fulfil(tools, verb, order_id) for verb, order_id in wishes)


def wishes_in(text):
    """Each wish with its order, or without one: `Cancel 7001 and refund 7002` are two."""
    found = []
    for clause in CLAUSE.split(text):
        verb = next((name for name, pattern in VERBS.items() if pattern.search(clause)), None)
        if verb is not None:
            found += [(verb, order_id) for order_id in ORDER_ID.findall(clause)] or [(verb, None)]
    return found


def fulfil(tools, verb, order_id):
    if order_id is None:
        return f"Which order should I {verb}? Please tell me its number."
    status, order = tools.call("get_order", order_id=order_id)
    if status >= 400:
        return f"I could not {verb} order {order_id}: {reason(order)}."
    if verb == "look up":
        shipped = f", shipped on {order['shipped_at']}" if order.get("shipped_at") else ""
        return f"Order {order_id} is {order.get('status', 'of unknown status')}{shipped}."
    if verb == "cancel":
        return outcome(tools.call("cancel_order", order_id=order_id), verb, order_id, "cancelled")
    if order.get("amount", 0) > MOST_WITHOUT_A_MANAGER:
        return f"I cannot refund order {order_id}: ${order['amount']:.2f} needs the approval of a manager."
    result = tools.call("refund_order", order_id=order_id, reason="asked by the customer")
    return outcome(result, verb, order_id, "refunded")


def outcome(result, verb, order_id, wanted):
    """Only what the backend confirms is said to be done; otherwise its own reason is passed on."""
    status, response = result
    if status < 400 and response.get("status") == wanted:
        return f"I have {wanted} order {order_id}."
    if status < 400:
        return f"I could not {verb} order {order_id}: our system left it unchanged."
    if status >= 500:
        failed = f"I tried to {verb} order {order_id}, but our system failed: {reason(response)}."
        return f"{failed} Nothing was changed."
    return f"I cannot {verb} order {order_id}: {reason(response)}."


def check_stock(tools, thing):
    status, response = tools.call("search_items", query=thing)
    if status >= 400:
        return f"I could not check our stock: {reason(response)}."
    items = response if isinstance(response, list) else next(iter(response.values()), [])
    told = [f"{item.get('name', 'an item')}: {item.get('stock', 'unknown')} in stock" for item in items]
    return f"We have {'; '.join(told)}." if told else f"We have nothing like “{thing}”."


def reason(response):
    error = response.get("error", {}) if isinstance(response, dict) else {}
    return str(error.get("message") or error.get("code") or "no reason given").rstrip(".")


# ---------------------------------------------------------------------------------------------------------
# The tools: each call is one POST to the run's proxy, whose reply is unwrapped.


class Tools:
    def __init__(self, proxy_url, run_token):
        self.proxy_url = proxy_url
        self.run_token = run_token
        self.messages = []  # what was called and answered, for the transcript

    def call(self, tool, **arguments):
        """A failing backend gets a second chance; a backend that says no is taken at its word."""
        result = self._call(tool, arguments)
        return self._call(tool, arguments) if result[0] >= 500 else result

    def _call(self, tool, arguments):
        call_id = f"call_{len(self.messages) // 2 + 1}"
        status, response = self._post(tool, arguments)
        made = {"id": call_id, "name": tool, "arguments": arguments}
        self.messages += [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": call_id, "content": json.dumps(response)},
        ]
        return status, response

    def _post(self, tool, arguments):
        request = urllib.request.Request(
            f"{self.proxy_url}/tools/{tool}",
            data=json.dumps(arguments).encode(),
            headers={
                "Authorization": f"Bearer {self.run_token}",
                "Content-Type": "application/json",
                "Idempotency-Key": uuid.uuid4().hex,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                status, body = reply.status, json.load(reply)
        except urllib.error.HTTPError as error:  # an error status is an answer, too
            status, body = error.code, json.load(error)
        return status, body.get("response", body)
