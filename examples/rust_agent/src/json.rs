//! As much JSON as the wire contract needs.

use std::fmt;

const DEEPEST: usize = 64;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn text(text: &str) -> Json {
        Json::Text(text.to_string())
    }

    /// The text itself; empty for what is no text.
    pub fn as_text(&self) -> &str {
        if let Json::Text(text) = self {
            text
        } else {
            ""
        }
    }

    pub fn has(&self, name: &str) -> bool {
        matches!(self, Json::Object(fields) if fields.iter().any(|(key, _)| key == name))
    }

    /// A member of an object; null when there is none.
    pub fn get(&self, name: &str) -> &Json {
        let Json::Object(fields) = self else { return &Json::Null };
        fields.iter().rev().find(|(key, _)| key == name).map_or(&Json::Null, |(_, value)| value)
    }

    pub fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
        Json::Object(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(value) => write!(out, "{value}"),
            Json::Number(value) => write!(out, "{value}"),
            Json::Text(text) => write_text(out, text),
            Json::List(items) => {
                let written: Vec<String> = items.iter().map(Json::to_string).collect();
                write!(out, "[{}]", written.join(","))
            }
            Json::Object(fields) => {
                write!(out, "{{")?;
                for (place, (name, value)) in fields.iter().enumerate() {
                    write!(out, "{}", if place > 0 { "," } else { "" })?;
                    write_text(out, name)?;
                    write!(out, ":{value}")?;
                }
                write!(out, "}}")
            }
        }
    }
}

fn write_text(out: &mut fmt::Formatter, text: &str) -> fmt::Result {
    write!(out, "\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(out, "\\{character}")?,
            '\n' => write!(out, "\\n")?,
            control if (control as u32) < 0x20 => write!(out, "\\u{:04x}", control as u32)?,
            other => write!(out, "{other}")?,
        }
    }
    write!(out, "\"")
}

/// The value of a whole text; None when it is no JSON.
pub fn parse(text: &str) -> Option<Json> {
    let mut reader = Reader { bytes: text.as_bytes(), place: 0 };
    let value = reader.value(0)?;
    reader.blanks();
    (reader.place == reader.bytes.len()).then_some(value)
}

struct Reader<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while self.bytes.get(self.place).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            self.place += 1;
        }
    }

    fn take(&mut self, expected: &str) -> Option<()> {
        let is_there = self.bytes[self.place..].starts_with(expected.as_bytes());
        self.place += if is_there { expected.len() } else { 0 };
        is_there.then_some(())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.blanks();
        match self.bytes.get(self.place)? {
            b'{' if depth < DEEPEST => self.object(depth),
            b'[' if depth < DEEPEST => self.list(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.take("true").map(|()| Json::Bool(true)),
            b'f' => self.take("false").map(|()| Json::Bool(false)),
            b'n' => self.take("null").map(|()| Json::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Json> {
        let start = self.place;
        while self.bytes.get(self.place).is_some_and(|byte| b"+-.eE0123456789".contains(byte)) {
            self.place += 1;
        }
        let number: f64 = std::str::from_utf8(&self.bytes[start..self.place]).ok()?.parse().ok()?;
        number.is_finite().then_some(Json::Number(number))
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.take("[")?;
        let mut items = Vec::new();
        self.blanks();
        if self.take("]").is_some() {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(",").is_none() {
                return self.take("]").map(|()| Json::List(items));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.take("{")?;
        let mut fields = Vec::new();
        self.blanks();
        if self.take("}").is_some() {
            return Some(Json::Object(fields));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            self.blanks();
            self.take(":")?;
            fields.push((name, self.value(depth + 1)?));
            self.blanks();
            if self.take(",").is_none() {
                return self.take("}").map(|()| Json::Object(fields));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut text = Vec::new();
        loop {
            let byte = *self.bytes.get(self.place)?;
            self.place += 1;
            match byte {
                b'"' => return String::from_utf8(text).ok(),
                b'\\' => {
                    let mut encoded = [0; 4];
                    text.extend_from_slice(self.escaped()?.encode_utf8(&mut encoded).as_bytes());
                }
                0..=0x1f => return None,
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let byte = *self.bytes.get(self.place)?;
        self.place += 1;
        match byte {
            b'n' => Some('\n'),
            b't' => Some('\t'),
            b'r' => Some('\r'),
            b'b' => Some('\u{8}'),
            b'f' => Some('\u{c}'),
            b'"' | b'\\' | b'/' => Some(byte as char),
            b'u' => self.unicode(),
            _ => None,
        }
    }

    /// `\ud83d\ude4f` is one character in two halves.
    fn unicode(&mut self) -> Option<char> {
        let first = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or('\u{fffd}'));
        }
        self.take("\\u")?;
        let second = self.four_digits()?.checked_sub(0xdc00)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + second)
    }

    fn four_digits(&mut self) -> Option<u32> {
        let digits = std::str::from_utf8(self.bytes.get(self.place..self.place + 4)?).ok()?;
        self.place += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
