//! One packet with the session that it meets and the packets before it, and its form in a corpus file.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

/// How the text reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// COM_QUERY.
    Text,
    /// COM_STMT_PREPARE and, if that succeeds, COM_STMT_EXECUTE with NULL for each parameter.
    Prepared,
}

/// Statements that prepare the session, one round trip each way before the packet. They are always whole statements
/// that succeed or fail without touching a table of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Setup {
    pub charset: String,
    pub sql_mode: String,
    /// Such as `BEGIN`; empty for none.
    pub before: String,
}

/// A packet with its session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Case {
    pub setup: Setup,
    /// Packets of the same session before the judged one, each a COM_QUERY of its own. Unlike the setup they may be anything.
    pub earlier: Vec<Vec<u8>>,
    pub protocol: Protocol,
    /// The packet that is judged.
    pub text: Vec<u8>,
}

impl Setup {
    pub fn usual() -> Setup {
        Setup { charset: "utf8mb4".into(), sql_mode: String::new(), before: String::new() }
    }

    /// The statements, in order.
    pub fn sql(&self) -> Vec<String> {
        let mut statements = Vec::new();
        if self.charset != "utf8mb4" {
            statements.push(format!("SET NAMES {}", self.charset));
        }
        if !self.sql_mode.is_empty() {
            statements.push(format!("SET sql_mode='{}'", self.sql_mode));
        }
        if !self.before.is_empty() {
            statements.push(self.before.clone());
        }
        statements
    }
}

/// The placeholder of the worker's number in case texts, so that a case runs in any schema: `o$` is the schema.
pub const WORKER: u8 = b'$';

impl Case {
    /// A single packet in a usual session.
    pub fn of(text: impl Into<Vec<u8>>) -> Case {
        Case { setup: Setup::usual(), earlier: Vec::new(), protocol: Protocol::Text, text: text.into() }
    }

    /// All packets, the judged one last.
    pub fn packets(&self) -> impl Iterator<Item = &[u8]> {
        self.earlier.iter().chain([&self.text]).map(Vec::as_slice)
    }

    /// Whether the bytes of a word, in lower case, are somewhere in a packet.
    pub fn mentions(&self, word: &str) -> bool {
        self.packets().any(|packet| {
            let text = packet.to_ascii_lowercase();
            text.windows(word.len()).any(|part| part == word.as_bytes())
        })
    }

    /// All packets for people, with arrows between them.
    pub fn shown(&self) -> String {
        self.packets().map(escape).collect::<Vec<_>>().join(" => ")
    }

    /// A file of the corpus: lines of `key: value`, with the text escaped, and comment lines that begin with `#`.
    pub fn to_file(&self, comment: &str) -> String {
        let mut file = String::new();
        for line in comment.lines() {
            let _ = writeln!(file, "# {line}");
        }
        let protocol = match self.protocol {
            Protocol::Text => "text",
            Protocol::Prepared => "prepared",
        };
        let Setup { charset, sql_mode, before } = &self.setup;
        let _ = writeln!(file, "protocol: {protocol}");
        let _ = writeln!(file, "charset: {charset}");
        let _ = writeln!(file, "sql_mode: {sql_mode}");
        let _ = writeln!(file, "before: {before}");
        for packet in &self.earlier {
            let _ = writeln!(file, "earlier: {}", escape(packet));
        }
        let _ = writeln!(file, "packet: {}", escape(&self.text));
        file
    }

    pub fn from_file(file: &str) -> Result<Case> {
        let mut case = Case::of("");
        for line in file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let (key, value) = line.split_once(':').context("a line without a key")?;
            let value = value.strip_prefix(' ').unwrap_or(value);
            match key {
                "protocol" if value == "text" => case.protocol = Protocol::Text,
                "protocol" if value == "prepared" => case.protocol = Protocol::Prepared,
                "charset" => case.setup.charset = value.to_owned(),
                "sql_mode" => case.setup.sql_mode = value.to_owned(),
                "before" => case.setup.before = value.to_owned(),
                "earlier" => case.earlier.push(unescape(value)?),
                "packet" => case.text = unescape(value)?,
                _ => bail!("unknown line {line}"),
            }
        }
        Ok(case)
    }
}

/// Printable ASCII as it is, all else and the backslash as `\xNN`; long runs of one byte as `\{count*NN}`.
pub fn escape(text: &[u8]) -> String {
    let mut escaped = String::new();
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let run = rest.iter().take_while(|&&other| other == byte).count();
        if run >= 100 {
            let _ = write!(escaped, "\\{{{run}*{byte:02x}}}");
            rest = &rest[run..];
            continue;
        }
        match byte {
            b' '..=b'~' if byte != b'\\' => escaped.push(char::from(byte)),
            _ => {
                let _ = write!(escaped, "\\x{byte:02x}");
            }
        }
        rest = &rest[1..];
    }
    escaped
}

fn unescape(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(hex) = rest.strip_prefix('x') {
            bytes.push(u8::from_str_radix(hex.get(..2).context("a cut escape")?, 16)?);
            rest = &hex[2..];
        } else {
            let run = rest.strip_prefix('{').context("an unknown escape")?;
            let (run, after) = run.split_once('}').context("an open run")?;
            let (count, byte) = run.split_once('*').context("a run without a byte")?;
            bytes.resize(bytes.len() + count.parse::<usize>()?, u8::from_str_radix(byte, 16)?);
            rest = after;
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_survives_its_file() {
        let mut text: Vec<u8> = (0..=255).collect();
        text.resize(1000, b'x');
        let setup = Setup { charset: "gbk".into(), sql_mode: "ANSI_QUOTES".into(), before: "BEGIN".into() };
        let earlier = vec![b"SET NAMES gbk".to_vec(), b"\xA1\\'".to_vec()];
        let case = Case { setup, earlier, protocol: Protocol::Prepared, text };
        let read = Case::from_file(&case.to_file("two\nlines")).expect("a case");
        assert_eq!(read, case);
    }
}
