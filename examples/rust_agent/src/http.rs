//! As much HTTP/1.1 as the wire contract needs: one request a connection, bodies with a Content-Length.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::json::Json;

const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
const MAX_HEAD_BYTES: u64 = 64 * 1024;
const TOOL_TIMEOUT: Duration = Duration::from_secs(120); // a simulated tool may take 20 s, a live one longer

/// A request or a reply: what both have.
pub struct Message {
    pub status: u16, // of a reply
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Message {
    /// Names have no case.
    pub fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    }
}

pub fn read_request(stream: &mut TcpStream) -> Result<Message, (u16, &'static str)> {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(30)));
    let mut reader = BufReader::new(stream);
    let (_, headers) = read_head(&mut reader).ok_or((400, "the request cannot be read"))?;
    let mut request = Message { status: 0, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|length| length.parse::<usize>().ok());
    match length {
        None => Err((411, "send a Content-Length")),
        Some(length) if length > MAX_BODY_BYTES => Err((413, "the body is over 8 MiB")),
        Some(length) => {
            request.body.resize(length, 0);
            reader.read_exact(&mut request.body).map_err(|_| (400, "the body is not whole"))?;
            Ok(request)
        }
    }
}

pub fn respond(stream: &mut TcpStream, status: u16, body: &Json) {
    let body = body.to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n");
    // A platform that hung up needs no answer.
    let _ = stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes());
}

pub fn post(url: &str, headers: &[(&str, &str)], body: &str) -> Result<Message, String> {
    let rest = url.strip_prefix("http://").ok_or("only http:// proxies: the standard library has no TLS")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = if host.contains(':') { host.to_string() } else { format!("{host}:80") };
    let told = |error: std::io::Error| format!("the proxy cannot be reached: {error}");
    let mut stream = TcpStream::connect(address).map_err(told)?;
    stream.set_read_timeout(Some(TOOL_TIMEOUT)).map_err(told)?;
    let mut request = format!("POST /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for (name, value) in headers {
        request += &format!("{name}: {value}\r\n");
    }
    request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).map_err(told)?;
    let mut reader = BufReader::new(stream);
    let (first, headers) = read_head(&mut reader).ok_or("the proxy's reply cannot be read")?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("the proxy sent no status")?;
    let mut reply = Message { status, headers, body: Vec::new() };
    let length = reply.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(u64::MAX);
    reader.take(length.min(MAX_BODY_BYTES as u64)).read_to_end(&mut reply.body).map_err(told)?;
    Ok(reply)
}

/// The first line, and the headers under their names in small letters.
fn read_head(reader: &mut impl BufRead) -> Option<(String, Vec<(String, String)>)> {
    let mut limited = reader.take(MAX_HEAD_BYTES);
    let mut line = || {
        let mut read = Vec::new();
        limited.read_until(b'\n', &mut read).ok()?;
        read.ends_with(b"\n").then(|| String::from_utf8_lossy(&read).trim_end().to_string())
    };
    let first = line()?;
    let mut headers = Vec::new();
    loop {
        let header = line()?;
        if header.is_empty() {
            return Some((first, headers));
        }
        let (name, value) = header.split_once(':')?;
        headers.push((name.trim().to_lowercase(), value.trim().to_string()));
    }
}
