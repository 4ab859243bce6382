//! The agent: what the user wants, and what to do about it.

use crate::json::Json;
use crate::tools::{ToolBox, ToolResult};

const MOST_WITHOUT_A_MANAGER: f64 = 500.0;
const VERBS: [(&str, &[&str]); 4] = [
    ("refund", &["refund", "reimburse", "money back", "give back"]),
    ("cancel", &["cancel"]),
    ("stock", &["in stock", "do you have", "have you got", "available"]),
    ("look up", &["where is", "status", "look up", "track", "check on", "how much"]),
];
const NO_ORDER: [&str; 6] = ["day", "days", "dollar", "dollars", "euro", "euros"]; // what a number may count instead

#[derive(Clone, PartialEq)]
struct Wish {
    verb: &'static str,
    order_id: Option<String>,
    query: String,
}

impl Wish {
    fn lacks_its_order(&self) -> bool {
        self.order_id.is_none() && self.verb != "stock"
    }
}

pub fn answer(text: &str, earlier: &[&str], tools: &mut ToolBox) -> Result<String, String> {
    let mut wishes = wishes_in(text);
    if wishes.is_empty() {
        // `It is order 4522.` answers our question about a wish from before
        let asked = earlier.iter().rev().flat_map(|said| wishes_in(said)).find(Wish::lacks_its_order);
        if let Some(asked) = asked {
            let named = |id| Wish { order_id: Some(id), ..asked.clone() };
            wishes = ids_in(text).into_iter().map(named).collect();
        }
    }
    if wishes.is_empty() {
        return Ok("I can look up, refund or cancel an order, or check our stock. Which order is it about?".into());
    }
    let told: Result<Vec<String>, String> = wishes.iter().map(|wish| fulfil(wish, tools)).collect();
    Ok(told?.join(" "))
}

/// Every wish of a message, in its order: `Cancel 7001 and refund 7002` are two.
fn wishes_in(text: &str) -> Vec<Wish> {
    let mut found: Vec<Wish> = Vec::new();
    let (mut verb, mut order_id) = (None, None);
    for clause in clauses(text) {
        let lower = clause.to_lowercase();
        let has = |words: &&[&str]| words.iter().any(|word| lower.contains(word));
        let said = VERBS.iter().find(|(_, words)| has(words)).map(|(name, _)| *name);
        let ids = ids_in(&clause);
        verb = said.or(verb);
        order_id = ids.first().cloned().or(order_id);
        match (said, verb) {
            (Some("stock"), _) => {
                found.push(Wish { verb: "stock", order_id: None, query: thing_in(&lower) });
            }
            // `refund it` means the order named before
            (Some(said), _) if ids.is_empty() => {
                found.push(Wish { verb: said, order_id: order_id.clone(), query: String::new() });
            }
            (_, Some(verb)) if verb != "stock" => {
                found.extend(ids.into_iter().map(|id| Wish { verb, order_id: Some(id), query: String::new() }));
            }
            _ => {}
        }
    }
    let named: Vec<&str> = found.iter().filter(|wish| !wish.lacks_its_order()).map(|wish| wish.verb).collect();
    found.retain(|wish| !wish.lacks_its_order() || !named.contains(&wish.verb));
    found
}

fn clauses(text: &str) -> Vec<String> {
    let marked = text.replace(" and ", "\n").replace(',', "\n");
    let marked = [". ", "; ", "! ", "? "].iter().fold(marked, |text, end| text.replace(end, "\n"));
    marked.lines().map(str::to_string).collect()
}

fn ids_in(clause: &str) -> Vec<String> {
    let words: Vec<&str> = clause.split_whitespace().map(|word| word.trim_matches(['.', '!', '?', ':', '#'])).collect();
    let is_id = |word: &str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let counts = |next: Option<&&str>| next.is_some_and(|word| NO_ORDER.contains(&word.to_lowercase().as_str()));
    let numbered = words.iter().enumerate();
    numbered
        .filter(|(place, word)| is_id(word) && !counts(words.get(place + 1)))
        .map(|(_, word)| word.to_string())
        .collect()
}

/// `do you have blue mugs in stock?` is about a `blue mug`.
fn thing_in(lower: &str) -> String {
    let after = ["have you got ", "have ", "got ", "any "].iter().find_map(|start| lower.split_once(start));
    let rest = after.map_or(lower, |(_, rest)| rest);
    let rest = rest.trim_start_matches("any ").trim_end_matches(['?', '.', '!']);
    rest.trim_end_matches(" in stock").trim_end_matches(" available").trim_end_matches('s').to_string()
}

fn fulfil(wish: &Wish, tools: &mut ToolBox) -> Result<String, String> {
    let verb = wish.verb;
    if verb == "stock" {
        return stock(&wish.query, tools);
    }
    let Some(id) = &wish.order_id else {
        return Ok(format!("Which order should I {verb}? Please tell me its number."));
    };
    let arguments = Json::object([("order_id", Json::text(id))]);
    let found = tools.call("get_order", &arguments)?;
    if found.status >= 400 {
        return Ok(format!("I could not {verb} order {id}: {}.", found.reason()));
    }
    match (verb, found.response.get("amount")) {
        ("look up", _) => Ok(described(id, &found.response)),
        ("refund", Json::Number(amount)) if *amount > MOST_WITHOUT_A_MANAGER => {
            Ok(format!("I cannot refund order {id}: ${amount:.2} needs the approval of a manager."))
        }
        ("refund", _) => Ok(outcome(&tools.call("refund_order", &arguments)?, verb, id, "refunded")),
        _ => Ok(outcome(&tools.call("cancel_order", &arguments)?, verb, id, "cancelled")),
    }
}

/// Only what the backend confirms is said to be done; otherwise its own reason is passed on.
fn outcome(result: &ToolResult, verb: &str, id: &str, status: &str) -> String {
    let reason = result.reason();
    match result.status {
        ..=399 if result.response.get("status").as_text() == status => format!("I have {status} order {id}."),
        ..=399 => format!("I could not {verb} order {id}: our system left it unchanged."),
        400..=499 => format!("I cannot {verb} order {id}: {reason}."),
        _ => format!("I tried to {verb} order {id}, but our system failed: {reason}. Nothing was changed."),
    }
}

fn described(id: &str, order: &Json) -> String {
    let shipped = match order.get("shipped_at") {
        Json::Text(day) => format!(", shipped on {day}"),
        _ => String::new(),
    };
    let price = match order.get("amount") {
        Json::Number(amount) => format!(" It comes to ${amount:.2}."),
        _ => String::new(),
    };
    format!("Order {id} is {}{shipped}.{price}", order.get("status").as_text())
}

fn stock(query: &str, tools: &mut ToolBox) -> Result<String, String> {
    let result = tools.call("search_items", &Json::object([("query", Json::text(query))]))?;
    if result.status >= 400 {
        return Ok(format!("I could not check our stock: {}.", result.reason()));
    }
    let items = match &result.response {
        Json::List(items) => Some(items),
        Json::Object(fields) => fields.iter().find_map(|(_, value)| match value {
            Json::List(items) => Some(items),
            _ => None,
        }),
        _ => None,
    };
    let tell = |item: &Json| format!("{}: {} in stock", item.get("name").as_text(), item.get("stock"));
    let told: Vec<String> = items.into_iter().flatten().map(tell).collect();
    if told.is_empty() {
        return Ok(format!("We have nothing like “{query}”."));
    }
    Ok(format!("We have {}.", told.join("; ")))
}
