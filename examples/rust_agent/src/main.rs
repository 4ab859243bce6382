//! The refund agent in Rust: no SDK, no model, the standard library alone.
//!
//!     AGENT_TOKEN=secret cargo run --release -- --port 9102
//!
//! To port your own agent, keep this file and `tools.rs` and put yours in place of `agent.rs`. The standard library
//! has neither HTTP nor JSON nor TLS: `http.rs` and `json.rs` do what is needed here; with serde, axum and reqwest
//! they fall away.

mod agent;
mod http;
mod json;
mod tools;

use std::net::{TcpListener, TcpStream};
use std::{env, process, thread};

use http::Message;
use json::Json;
use tools::ToolBox;

enum Trouble {
    Refused(u16, &'static str),
    Proxy(String),
}

/// Auth first, so that a ping proves the token too; ping second; then the dispatch.
fn handle(request: &Message, agent_token: &str) -> Result<Json, Trouble> {
    let given = request.header("authorization").unwrap_or_default();
    if !is_equal(given.as_bytes(), format!("Bearer {agent_token}").as_bytes()) {
        return Err(Trouble::Refused(401, "missing or invalid bearer token"));
    }
    let body = std::str::from_utf8(&request.body)
        .ok()
        .and_then(json::parse)
        .ok_or(Trouble::Refused(400, "the body is no JSON"))?;
    match &body {
        Json::Object(fields) if fields.len() == 1 && body.get("ping") == &Json::Bool(true) => {
            Ok(Json::object([("ok", Json::Bool(true))]))
        }
        Json::Object(_) => dispatch(&body, request),
        _ => Err(Trouble::Refused(400, "the body must be an object")),
    }
}

/// The body comes first; headers stand in for what an edge stripped.
fn dispatch(body: &Json, request: &Message) -> Result<Json, Trouble> {
    let proxy_url = match body.get("odyssey_proxy_url") {
        Json::Text(url) if !url.is_empty() => Some(url.clone()),
        _ => request.header("x-pipelines-odyssey-proxy-url"),
    };
    let (Some(proxy_url), Some(token)) = (proxy_url, request.header("x-pipelines-run-token")) else {
        return Err(Trouble::Refused(400, "missing proxy URL or run token"));
    };
    let payload = body.get("input");
    let text = payload.get("user_instruction").as_text().to_string();
    let said = match payload.get("messages") {
        Json::List(messages) => messages.clone(),
        _ => vec![Json::object([("role", Json::text("user")), ("content", Json::text(&text))])],
    };
    let earlier: Vec<&str> = said[..said.len().saturating_sub(1)]
        .iter()
        .filter(|message| message.get("role").as_text() == "user")
        .map(|message| message.get("content").as_text())
        .collect();
    // Built here: each run has its own proxy and token.
    let mut tools = ToolBox::new(&proxy_url, &token);
    let answer = agent::answer(&text, &earlier, &mut tools).map_err(Trouble::Proxy)?;
    let last = Json::object([("role", Json::text("assistant")), ("content", Json::text(&answer))]);
    let messages = [said.clone(), tools.messages, vec![last]].concat();
    Ok(Json::object([
        ("final_response", Json::text(&answer)),
        ("messages", Json::List(messages)),
        ("metadata", Json::object([("model", Json::text("rules"))])),
    ]))
}

/// Takes equally long wherever the two differ.
fn is_equal(given: &[u8], expected: &[u8]) -> bool {
    let differing = given.iter().zip(expected).fold(0, |found, (a, b)| found | (a ^ b));
    given.len() == expected.len() && differing == 0
}

fn serve(mut stream: TcpStream, agent_token: &str) {
    let request = match http::read_request(&mut stream) {
        Ok(request) => request,
        Err((status, why)) => return http::respond(&mut stream, status, &detail(why)),
    };
    match handle(&request, agent_token) {
        Ok(body) => http::respond(&mut stream, 200, &body),
        Err(Trouble::Refused(status, why)) => http::respond(&mut stream, status, &detail(why)),
        Err(Trouble::Proxy(why)) => http::respond(&mut stream, 502, &detail(&why)),
    }
}

fn detail(why: &str) -> Json {
    Json::object([("detail", Json::text(why))])
}

fn main() {
    let Ok(token) = env::var("AGENT_TOKEN") else {
        eprintln!("set AGENT_TOKEN: the platform sends it as `Authorization: Bearer …`");
        process::exit(2);
    };
    let given: Vec<String> = env::args().collect();
    let port = match given.iter().position(|each| each == "--port") {
        Some(place) => given.get(place + 1).and_then(|port| port.parse().ok()).expect("--port takes a number"),
        None => 9102u16,
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port is free");
    println!("Refund agent at http://{}/dispatch", listener.local_addr().expect("it is bound"));
    for stream in listener.incoming().flatten() {
        let token = token.clone();
        thread::spawn(move || serve(stream, &token));
    }
}
