"""The rules of the wire contract that a wrapper can be seen to keep or break, each explained once.

docs/reference/conformance.md says the same words; a test holds the two together.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    name: str
    title: str
    why: str  # the paragraph that explains it
    change: str  # what to do about a wrapper that breaks it


_TABLE = (
    Rule(
        name="auth.accepted",
        title="The registered auth header is accepted",
        why="The platform sends the auth header you registered with every ping and dispatch. A wrapper that "
        "refuses it fails every run as `auth_failed`.",
        change="Compare the whole header value, scheme and all (`Bearer <token>`), with the one you "
        "register.",
    ),
    Rule(
        name="auth.required",
        title="A dispatch without the auth header is refused",
        why="Whoever can reach the endpoint could otherwise dispatch to your agent, at your cost. Answer 401 "
        "or 403 before anything else happens, so that no tool is called for a stranger.",
        change="Answer 401 when the auth header is missing, before the body is read as a dispatch.",
    ),
    Rule(
        name="auth.wrong",
        title="A dispatch with a wrong auth header is refused",
        why="A check that only looks whether there is a header, or compares part of it, lets everybody in.",
        change="Compare the whole value in constant time (`hmac.compare_digest`, `timingSafeEqual`) and "
        "answer 401 when it differs.",
    ),
    Rule(
        name="auth.non_ascii",
        title="An auth header that is not ASCII is refused, not crashed on",
        why="Headers are bytes, and anybody can send any. Some constant-time comparisons raise on text that "
        "is not ASCII: a stranger then gets a 500, and your log a traceback.",
        change="Compare bytes, not text: encode both sides before the comparison.",
    ),
    Rule(
        name="auth.before_ping",
        title="A ping with a wrong auth header is refused",
        why="Test connection sends a ping with the registered header and must prove both that the endpoint "
        "is reachable and that the header is right. A wrapper that answers pings first is green with a wrong "
        "token, and the first real run fails.",
        change="Check the auth header first, then short-circuit the ping.",
    ),
    Rule(
        name="auth.before_parsing",
        title="The auth header is checked before the body is parsed",
        why="A stranger who sends a broken body should learn nothing but 401. Frameworks that bind the body "
        "to a model parse it before your handler runs, and tell strangers what a dispatch looks like.",
        change="Read the raw body in the handler, after the auth check, instead of declaring it as a "
        "parameter.",
    ),
    Rule(
        name="ping.answered",
        title='{"ping": true} is answered with a 2xx',
        why='Test connection POSTs exactly {"ping": true}: no task, no proxy, no run token. A wrapper that '
        "reads it as a dispatch answers 400 or 500, and one that runs the agent on it works for nothing.",
        change='After the auth check and before the dispatch is read, answer the body {"ping": true} with '
        '200 and {"ok": true}.',
    ),
    Rule(
        name="response.status",
        title="A dispatch is answered with a 2xx, in time",
        why="Any other status ends the run as `agent_4xx` or `agent_5xx`, no answer within run_timeout_s as "
        "`agent_timeout`, and a dispatch is never sent again.",
        change="See the wrapper's log. What the agent could not do belongs in `final_response`, not in a "
        "status.",
    ),
    Rule(
        name="response.final_response",
        title="The answer has a non-empty final_response",
        why="`final_response` is what the run is graded on. An answer without it, or with an empty one, ends "
        "the run as `agent_bad_response`.",
        change='Answer a JSON object {"final_response": "…"}; when the agent has nothing to say, say so in '
        "it.",
    ),
    Rule(
        name="response.shape",
        title="messages and metadata have the shape of the schema",
        why="`messages` and `metadata` are optional, but malformed ones are dropped with a soft warning: the "
        "trace then shows only the final response, and an agent with a response contract fails.",
        change="Follow /schemas/agent-response.json: a role in every message, `tool_call_id` in every tool "
        "message, and an id and a name in every tool call.",
    ),
    Rule(
        name="envelope.instruction",
        title="The prompt is body.input.user_instruction",
        why="The words of the user are `body.input.user_instruction` and nowhere else; `body.input.input` is "
        "data of the task. A wrapper that looks elsewhere runs the agent on something that nobody asked.",
        change='Read body["input"]["user_instruction"].',
    ),
    Rule(
        name="envelope.proxy_from_body",
        title="The proxy URL is read from the body",
        why="Body and headers carry the same proxy URL. An edge in front of the agent may strip headers, so "
        "the body comes first.",
        change='Read body["odyssey_proxy_url"], and the header only when it is missing.',
    ),
    Rule(
        name="envelope.proxy_from_header",
        title="A body without the proxy URL is made up for by the header",
        why="An edge that rewrites bodies may drop fields that it does not know; the header "
        "X-Pipelines-Odyssey-Proxy-Url then still has the proxy URL.",
        change="Fall back to the header X-Pipelines-Odyssey-Proxy-Url (header names have no case).",
    ),
    Rule(
        name="envelope.body_before_header",
        title="Where body and header differ, the body counts",
        why="The platform sends the same proxy URL twice, so a difference was made on the way: by something "
        "that rewrites or replays headers.",
        change="Look into the body first.",
    ),
    Rule(
        name="envelope.trailing_slash",
        title="A trailing slash of the proxy URL does no harm",
        why="Proxy URLs are configured by people (PIPELINES_PUBLIC_URL) and may end in a slash. "
        "`…/runs/abc//tools/get_order` is another path, and answers 404.",
        change="Strip trailing slashes before you append `/tools/{name}`.",
    ),
    Rule(
        name="envelope.unknown_fields",
        title="Unknown fields and headers are ignored",
        why="Dispatches grow: conversations add `messages` and `session_id`, evals add `variation`. A "
        "wrapper that refuses what it does not know breaks with the next version.",
        change="Allow extra fields where the body is parsed (no `extra=forbid`, no `additionalProperties: "
        "false`).",
    ),
    Rule(
        name="envelope.unicode",
        title="Text of any language survives",
        why="Bodies are UTF-8 JSON. A wrapper that decodes them as anything else hands the agent another "
        "prompt than the user wrote.",
        change="Decode the body as UTF-8, whatever the platform's default is.",
    ),
    Rule(
        name="envelope.large",
        title="A body of 512 KiB is taken",
        why="A conversation in replay mode carries all that was said, tool replies included. Body limits of "
        "frameworks (100 kB in Express) answer 413 in the middle of it.",
        change="Raise the body limit of the framework, and of the proxy in front of it, to some megabytes.",
    ),
    Rule(
        name="envelope.malformed",
        title="What is no dispatch is answered with a 4xx",
        why="A 5xx says that the agent is broken, a 4xx that the request is; a wrapper that hangs or drops "
        "the connection says nothing. Whoever looks for the fault reads that first.",
        change="Answer 400 when the body is no JSON object, or when there is no proxy URL or no run token.",
    ),
    Rule(
        name="tools.path",
        title="Tool calls are POSTed to {proxy}/tools/{name}",
        why="Only calls to {odyssey_proxy_url}/tools/{tool_name} reach the simulated backend. Whatever goes "
        "elsewhere is not in the trace, and not in the verdict.",
        change="POST every tool call to {odyssey_proxy_url}/tools/{name}, under the tool's declared name.",
    ),
    Rule(
        name="tools.bearer",
        title="Tool calls carry the run token",
        why="The proxy knows the run by its token: `Authorization: Bearer <run token>`, or "
        "X-Pipelines-Run-Token. The token arrives in the dispatch's X-Pipelines-Run-Token header, never in "
        "the body, because bodies end up in logs.",
        change="Take the token from the dispatch's X-Pipelines-Run-Token header and send it with every call.",
    ),
    Rule(
        name="tools.json_body",
        title="The body of a tool call is the arguments object",
        why="The body is checked against the tool's input_schema as it is. A list, a string, or arguments "
        "wrapped in another object are refused with 422.",
        change="Send the arguments by name as one JSON object, with nothing around it.",
    ),
    Rule(
        name="tools.unwrapped",
        title="The agent gets the response, not the envelope",
        why="The proxy wraps each reply: tool_name, response, source, latency_ms. An agent that is handed "
        "the envelope reasons about fields that no real tool has.",
        change='Hand the agent body["response"] and nothing else. It is decoded already.',
    ),
    Rule(
        name="tools.error_survived",
        title="An error reply of a tool reaches the agent",
        why="Tasks inject failures to see what the agent does about them. A wrapper that raises on an error "
        "status ends the run as `agent_5xx`, and the agent never gets the chance.",
        change="Hand the agent the `response` of an error reply as the tool's result.",
    ),
    Rule(
        name="tools.retry_429",
        title="A rate limit is waited out",
        why="429 is the proxy's own `try again later`, not the backend's. An agent that is told of it is "
        "judged on a condition of the platform.",
        change="Repeat the call after Retry-After, with backoff, four tries in all, below the agent.",
    ),
    Rule(
        name="tools.retry_503",
        title="A reply that says it is retryable is retried",
        why='Conditions of the platform that pass say `"retryable": true` and carry Retry-After. They are no '
        "part of the task.",
        change='Repeat the call when the body says `"retryable": true`, as after a 429.',
    ),
    Rule(
        name="tools.retry_after",
        title="Retry-After is respected",
        why="Calls that come back sooner meet the same limit, and use up the tries that would have worked.",
        change="Wait as many seconds as Retry-After says (up to 60) before the next try.",
    ),
    Rule(
        name="tools.injected_not_retried",
        title="An injected failure is not retried below the agent",
        why="An injected failure is what the task tests: it never says `retryable`. A wrapper that retries "
        "every 5xx swallows it, and the agent passes a test that it never took. (An agent that itself "
        "decides to try again is fine; from outside, one repetition looks the same and is only told.)",
        change='Retry only 429 and what says `"retryable": true`; hand every other error to the agent.',
    ),
    Rule(
        name="tools.slow_reply",
        title="A slow tool reply is waited for",
        why="A simulated tool may take 20 seconds, a live one longer. A client that gives up earlier loses a "
        "call that the world has already seen, and may repeat it.",
        change="Give the HTTP client of the tools a timeout of 120 s.",
    ),
    Rule(
        name="runs.isolated",
        title="Runs do not mix",
        why="Every run has its own proxy and token, and a batch dispatches several at once. A token kept in "
        "a global, a default header or a cached client sends one run's calls into another run's world.",
        change="Build the tools inside the request handler, closed over this dispatch's proxy URL and token.",
    ),
    Rule(
        name="runs.concurrent",
        title="Several dispatches are worked on at once",
        why="A batch keeps up to max_concurrency (8) dispatches open. Where the wrapper takes one at a time, "
        "the others wait inside their run_timeout_s.",
        change="Serve with threads, workers or async calls, or set the agent's max_concurrency to 1.",
    ),
)

RULES = {rule.name: rule for rule in _TABLE}
