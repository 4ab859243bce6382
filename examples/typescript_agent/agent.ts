/**
 * The refund agent in TypeScript: no SDK, no framework, no model; Node's own http and fetch.
 *
 *     AGENT_TOKEN=secret node dist/agent.js --port 9101
 *
 * To port your own agent, keep the second half (the tools and the endpoint) and put yours in place of `answer`.
 */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

type Json = null | boolean | number | string | Json[] | JsonObject;
type JsonObject = { [name: string]: Json };

// -- The agent: what the user wants, and what to do about it. ----------------------------------------------

const MOST_WITHOUT_A_MANAGER = 500;
const VERBS: [string, RegExp][] = [
  ["refund", /\b(refund|reimburse|money back|give back)/i],
  ["cancel", /\bcancel/i],
  ["stock", /\b(in stock|do you have|have you got|available)\b/i],
  ["look up", /\b(where is|status|look up|track|check on|how much)\b/i],
];
const ORDER_ID = /(?<![\w$.-])#?(\d{3,})\b(?!\s*(?:days?|dollars?|euros?|%))/g;
const CLAUSE = /[.;!?]\s+|,\s*(?:and\s+|then\s+)?|\s+and\s+(?:then\s+)?/;
const THING = /(?:have|got|any)\s+(?:any\s+)?([\w -]+?)(?:\s+in stock|\s+available|[?.!]|$)/i;

type Wish = { verb: string; orderId?: string; query?: string };

/** Every wish of a message, in its order: `Cancel 7001 and refund 7002` are two. */
function wishesIn(text: string): Wish[] {
  const found: Wish[] = [];
  let verb: string | undefined;
  let orderId: string | undefined;
  for (const clause of text.split(CLAUSE)) {
    const said = VERBS.find(([, pattern]) => pattern.test(clause))?.[0];
    const ids = idsIn(clause);
    verb = said ?? verb;
    orderId = ids[0] ?? orderId;
    if (said === "stock") found.push({ verb: said, query: (THING.exec(clause)?.[1] ?? clause).replace(/s$/, "") });
    else if (said && ids.length === 0) found.push({ verb: said, orderId }); // `refund it`: the order named before
    else if (verb && verb !== "stock") found.push(...ids.map((id) => ({ verb: verb!, orderId: id })));
  }
  const named = new Set(found.filter((wish) => !lacksItsOrder(wish)).map((wish) => wish.verb));
  return found.filter((wish) => !lacksItsOrder(wish) || !named.has(wish.verb));
}

const idsIn = (text: string): string[] => [...text.matchAll(ORDER_ID)].map((match) => match[1]!);
const lacksItsOrder = (wish: Wish): boolean => wish.verb !== "stock" && wish.orderId === undefined;
const money = (amount: number): string => `$${amount.toFixed(2)}`;

async function answer(text: string, earlier: string[], tools: ToolBox): Promise<string> {
  let wishes = wishesIn(text);
  if (wishes.length === 0) {
    // `It is order 4522.` answers our question about a wish from before
    const asked = earlier.flatMap(wishesIn).filter(lacksItsOrder).at(-1);
    wishes = asked ? idsIn(text).map((orderId) => ({ ...asked, orderId })) : [];
  }
  if (wishes.length === 0) return "I can look up, refund or cancel an order, or check our stock. Which order is it about?";
  const told: string[] = [];
  for (const wish of wishes) told.push(await fulfil(wish, tools));
  return told.join(" ");
}

async function fulfil({ verb, orderId, query }: Wish, tools: ToolBox): Promise<string> {
  if (verb === "stock") return stock(query ?? "", tools);
  if (orderId === undefined) return `Which order should I ${verb}? Please tell me its number.`;
  const found = await tools.call("get_order", { order_id: orderId });
  if (found.status >= 400) return `I could not ${verb} order ${orderId}: ${reason(found)}.`;
  const order = objectOr(found.response);
  const amount = typeof order.amount === "number" ? order.amount : undefined;
  if (verb === "look up") {
    const shipped = order.shipped_at ? `, shipped on ${order.shipped_at}` : "";
    return `Order ${orderId} is ${order.status}${shipped}.` + (amount === undefined ? "" : ` It comes to ${money(amount)}.`);
  }
  if (verb === "refund" && amount !== undefined && amount > MOST_WITHOUT_A_MANAGER)
    return `I cannot refund order ${orderId}: ${money(amount)} needs the approval of a manager.`;
  const [tool, status, done] =
    verb === "refund" ? ["refund_order", "refunded", "refunded"] : ["cancel_order", "cancelled", "cancelled"];
  const result = await tools.call(tool!, { order_id: orderId });
  // Only what the backend confirms is said to be done; otherwise its own reason is passed on.
  if (result.status < 400 && objectOr(result.response).status === status) return `I have ${done} order ${orderId}.`;
  if (result.status < 400) return `I could not ${verb} order ${orderId}: our system left it unchanged.`;
  if (result.status >= 500)
    return `I tried to ${verb} order ${orderId}, but our system failed: ${reason(result)}. Nothing was changed.`;
  return `I cannot ${verb} order ${orderId}: ${reason(result)}.`;
}

async function stock(query: string, tools: ToolBox): Promise<string> {
  const result = await tools.call("search_items", { query });
  if (result.status >= 400) return `I could not check our stock: ${reason(result)}.`;
  const lists = Array.isArray(result.response) ? [result.response] : Object.values(objectOr(result.response)).filter(Array.isArray);
  const told = (lists[0] ?? []).map(objectOr).map((item) => `${item.name}: ${item.stock} in stock`);
  return told.length > 0 ? `We have ${told.join("; ")}.` : `We have nothing like “${query}”.`;
}

// -- The tools: each call is one POST to the run's proxy, whose reply is unwrapped. -------------------------

type ToolResult = { status: number; response: Json };
const objectOr = (value: Json | undefined): JsonObject => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

/** Why it was refused, in the backend's words. */
function reason({ status, response }: ToolResult): string {
  const error = objectOr(response).error;
  return String(objectOr(error).message ?? objectOr(error).code ?? error ?? `status ${status}`).replace(/\.$/, "");
}

/** The tools of one run: they close over its proxy and its token. */
class ToolBox {
  readonly messages: Json[] = [];
  readonly #proxyUrl: string;
  readonly #token: string;

  constructor(proxyUrl: string, token: string) {
    this.#proxyUrl = proxyUrl.replace(/\/+$/, "");
    this.#token = token;
  }

  /** The agent's own decision: a failing backend gets a second chance, one that says no is taken at its word. */
  async call(tool: string, args: JsonObject): Promise<ToolResult> {
    const result = await this.#once(tool, args);
    return result.status >= 500 ? this.#once(tool, args) : result;
  }

  async #once(tool: string, args: JsonObject): Promise<ToolResult> {
    const id = `call_${this.messages.length / 2 + 1}`;
    const result = await this.#patiently(tool, args);
    this.messages.push(
      { role: "assistant", content: null, tool_calls: [{ id, name: tool, arguments: args }] },
      { role: "tool", tool_call_id: id, content: JSON.stringify(result.response) },
    );
    return result;
  }

  /** Only what says that it is worth a retry is retried: an injected failure never does. */
  async #patiently(tool: string, args: JsonObject): Promise<ToolResult> {
    const key = randomUUID(); // the same for each try, so that one call is never done twice
    for (let attempt = 1; ; attempt++) {
      const reply = await fetch(`${this.#proxyUrl}/tools/${tool}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${this.#token}`, "idempotency-key": key },
        body: JSON.stringify(args),
      });
      const body = objectOr((await reply.json()) as Json);
      if (body.retryable !== true || attempt === 4) return { status: reply.status, response: body.response ?? body };
      const wait = Number(reply.headers.get("retry-after") ?? 0.5 * 2 ** attempt);
      await new Promise((resolve) => setTimeout(resolve, Math.min(4, wait) * 1000));
    }
  }
}

// -- The endpoint: one POST per dispatch. Auth first, ping second, then the dispatch. ------------------------

const MAX_BODY_BYTES = 8 * 1024 * 1024;

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function handle(request: IncomingMessage, token: string): Promise<JsonObject> {
  const raw = await bodyOf(request);
  if (!isAuthenticated(request.headers, token)) throw new Refusal(401, "missing or invalid bearer token");
  let body: Json;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(raw)) as Json;
  } catch {
    throw new Refusal(400, "the body is no JSON");
  }
  if (body === null || typeof body !== "object" || Array.isArray(body)) throw new Refusal(400, "the body must be an object");
  if (body.ping === true && Object.keys(body).length === 1) return { ok: true };
  return dispatch(body, request.headers);
}

/** The body comes first; headers stand in for what an edge stripped. */
async function dispatch(body: JsonObject, headers: IncomingHttpHeaders): Promise<JsonObject> {
  const proxyUrl = body.odyssey_proxy_url || headers["x-pipelines-odyssey-proxy-url"];
  const token = headers["x-pipelines-run-token"];
  if (typeof proxyUrl !== "string" || typeof token !== "string") throw new Refusal(400, "missing proxy URL or run token");
  const payload = objectOr(body.input);
  const text = String(payload.user_instruction ?? "");
  const said: Json[] = Array.isArray(payload.messages) ? payload.messages : [{ role: "user", content: text }];
  const earlier = said.slice(0, -1).map(objectOr).filter((message) => message.role === "user");
  const tools = new ToolBox(proxyUrl, token); // built here: each run has its own proxy and token
  const final = await answer(text, earlier.map((message) => String(message.content)), tools);
  return {
    final_response: final,
    messages: [...said, ...tools.messages, { role: "assistant", content: final }],
    metadata: { model: "rules" },
  };
}

/** Over hashes, which are equally long whatever was sent. */
function isAuthenticated(headers: IncomingHttpHeaders, token: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(headers.authorization ?? ""), hash(`Bearer ${token}`));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BODY_BYTES) throw new Refusal(413, "the body is over 8 MiB");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function main(): void {
  const token = process.env.AGENT_TOKEN;
  if (!token) throw new Error("set AGENT_TOKEN: the platform sends it as `Authorization: Bearer …`");
  const given = process.argv.indexOf("--port");
  const server = createServer((request, response) => {
    handle(request, token)
      .then((body) => ({ status: 200, body }))
      .catch((error: unknown) => {
        const status = error instanceof Refusal ? error.status : 502; // else the proxy could not be reached
        return { status, body: { detail: error instanceof Error ? error.message : String(error) } as JsonObject };
      })
      .then(({ status, body }) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)));
  });
  server.listen(given < 0 ? 9101 : Number(process.argv[given + 1]), "127.0.0.1", () => {
    console.log(`Refund agent at http://127.0.0.1:${(server.address() as AddressInfo).port}/dispatch`);
  });
}

main();
