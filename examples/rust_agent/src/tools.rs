//! The tools: each call is one POST to the run's proxy, whose reply is unwrapped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::http;
use crate::json::{self, Json};

const TRIES: u32 = 4;
static CALLS: AtomicU64 = AtomicU64::new(0);

pub struct ToolResult {
    pub status: u16,
    pub response: Json,
}

impl ToolResult {
    /// Why it was refused, in the backend's words.
    pub fn reason(&self) -> String {
        let error = self.response.get("error");
        let said = [error.get("message"), error.get("code"), error].map(Json::as_text);
        match said.into_iter().find(|text| !text.is_empty()) {
            Some(text) => text.trim_end_matches('.').to_string(),
            None => format!("status {}", self.status),
        }
    }
}

/// The tools of one run: they close over its proxy and its token.
pub struct ToolBox {
    proxy_url: String,
    token: String,
    pub messages: Vec<Json>, // what was called and answered, for the transcript
}

impl ToolBox {
    pub fn new(proxy_url: &str, token: &str) -> Self {
        let proxy_url = proxy_url.trim_end_matches('/').to_string();
        ToolBox { proxy_url, token: token.to_string(), messages: Vec::new() }
    }

    /// The agent's own decision: a failing backend gets a second chance, one that says no is taken at its word.
    pub fn call(&mut self, tool: &str, arguments: &Json) -> Result<ToolResult, String> {
        let result = self.once(tool, arguments)?;
        if result.status >= 500 {
            self.once(tool, arguments)
        } else {
            Ok(result)
        }
    }

    fn once(&mut self, tool: &str, arguments: &Json) -> Result<ToolResult, String> {
        let id = format!("call_{}", self.messages.len() / 2 + 1);
        let result = self.patiently(tool, arguments)?;
        let call =
            Json::object([("id", Json::text(&id)), ("name", Json::text(tool)), ("arguments", arguments.clone())]);
        self.messages.push(Json::object([
            ("role", Json::text("assistant")),
            ("content", Json::Null),
            ("tool_calls", Json::List(vec![call])),
        ]));
        self.messages.push(Json::object([
            ("role", Json::text("tool")),
            ("tool_call_id", Json::text(&id)),
            ("content", Json::text(&result.response.to_string())),
        ]));
        Ok(result)
    }

    /// Only what says that it is worth a retry is retried: an injected failure never does.
    fn patiently(&self, tool: &str, arguments: &Json) -> Result<ToolResult, String> {
        let url = format!("{}/tools/{tool}", self.proxy_url);
        let bearer = format!("Bearer {}", self.token);
        let key = new_key(); // the same for each try, so that one call is never done twice
        let mut attempt = 1;
        loop {
            let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key.as_str())];
            let reply = http::post(&url, &headers, &arguments.to_string())?;
            let text = String::from_utf8_lossy(&reply.body);
            let body = json::parse(&text).unwrap_or_else(|| Json::text(&text));
            if body.get("retryable") != &Json::Bool(true) || attempt == TRIES {
                let response = if body.has("response") { body.get("response").clone() } else { body };
                return Ok(ToolResult { status: reply.status, response });
            }
            let told = reply.header("retry-after").and_then(|seconds| seconds.parse::<f64>().ok());
            let wait_s = told.unwrap_or(0.5 * f64::from(2u32.pow(attempt))).clamp(0.0, 4.0);
            thread::sleep(Duration::from_secs_f64(wait_s));
            attempt += 1;
        }
    }
}

fn new_key() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_nanos()).unwrap_or_default();
    format!("{now:x}-{}", CALLS.fetch_add(1, Ordering::Relaxed))
}
