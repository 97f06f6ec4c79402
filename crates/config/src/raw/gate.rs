//! What was written of a gate and of a metric, key by key.

use health::settings::Over;
use health::{Control, OnStale, Unit};
use rules::{Action, Mode};
use serde::Deserialize;
use serde::de::Deserializer;
use statement::Class;

use super::{A_DAY, AN_HOUR};
use crate::gate::On;
use crate::rule::RawMatch;
use crate::tree::Complaint;
use crate::value::{Count, Id, List, Measure, Span, Trickle, Word, Words, duration, read_measure, read_text, shown};

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "the keys of a gate, such as `threshold: 5s`")]
pub(crate) struct RawGate {
    pub(crate) metric: Option<Id>,
    pub(crate) threshold: Option<Measure>,
    #[serde(rename = "match")]
    pub(crate) matching: Option<RawMatch>,
    pub(crate) classes: Option<List<Word<Concerned>>>,
    pub(crate) mode: Option<Word<Mode>>,
    pub(crate) interval: Option<Span<20, AN_HOUR>>,
    pub(crate) scope: Option<Word<Over>>,
    pub(crate) ignore_worst: Option<Count<0, 1000>>,
    pub(crate) control: Option<Word<Control>>,
    pub(crate) on_stale: Option<Word<OnStale>>,
    pub(crate) stale_after: Option<Span<100, A_DAY>>,
    pub(crate) max_closed: Option<MaxClosed>,
    pub(crate) trickle: Option<Trickle>,
    pub(crate) action: Option<Word<Action>>,
    pub(crate) max_delay: Option<Span<0, AN_HOUR>>,
    pub(crate) max_delay_after_reads: Option<Span<0, AN_HOUR>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "the keys of a metric, such as `sql: \"SELECT …\"`")]
pub(crate) struct RawMetric {
    pub(crate) sql: Option<Sql>,
    pub(crate) http: Option<Url>,
    pub(crate) on: Option<Word<On>>,
    pub(crate) unit: Option<Word<Unit>>,
    pub(crate) interval: Option<Span<100, AN_HOUR>>,
    pub(crate) timeout: Option<Span<10, 60_000>>,
}

/// What a gate can concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concerned {
    Statement(Class),
    Login,
}

impl Words for Concerned {
    const ALL: &'static [&'static str] = &["read", "write", "call", "unparsed", "ddl", "login"];

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "login" => Some(Concerned::Login),
            "control" => None,
            word => word.parse().ok().map(Concerned::Statement),
        }
    }
}

impl Words for Over {
    const ALL: &'static [&'static str] = &["max", "min", "avg"];

    fn from_word(word: &str) -> Option<Self> {
        Over::named(word)
    }
}

impl Words for Control {
    const ALL: &'static [&'static str] = &["paced", "permits", "binary"];

    fn from_word(word: &str) -> Option<Self> {
        Control::named(word)
    }
}

impl Words for OnStale {
    const ALL: &'static [&'static str] = &["open", "closed", "hold_last"];

    fn from_word(word: &str) -> Option<Self> {
        OnStale::named(word)
    }
}

impl Words for Unit {
    const ALL: &'static [&'static str] = &["count", "seconds", "share"];

    fn from_word(word: &str) -> Option<Self> {
        match word {
            "count" => Some(Unit::Count),
            "seconds" => Some(Unit::Seconds),
            "share" => Some(Unit::Share),
            _ => None,
        }
    }
}

impl Words for On {
    const ALL: &'static [&'static str] = &["primary", "replicas"];

    fn from_word(word: &str) -> Option<Self> {
        [On::Primary, On::Replicas].into_iter().find(|on| on.as_str() == word)
    }
}

/// A duration, or `never`.
pub(crate) struct MaxClosed(pub(crate) Option<std::time::Duration>);

impl MaxClosed {
    fn parse(text: &str) -> Result<Self, Complaint> {
        if text == "never" {
            return Ok(MaxClosed(None));
        }
        let remedy = format!("write a duration from `1s` to `{}`, such as `10m`, or `never`", shown(A_DAY));
        match duration(text) {
            Ok(time) if (1..=A_DAY / 1000).contains(&time.as_secs()) => Ok(MaxClosed(Some(time))),
            Ok(_) => Err(Complaint::new(format!("`{text}` is out of range"), remedy)),
            Err(_) => Err(Complaint::new(format!("`{text}` is not a duration"), remedy)),
        }
    }
}

impl<'de> Deserialize<'de> for MaxClosed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_measure(deserializer, "a duration, such as `10m`, or `never`", Self::parse)
    }
}

/// A question that changes nothing.
pub(crate) struct Sql(pub(crate) String);

impl Sql {
    const MOST: usize = 4096;

    fn parse(text: &str) -> Result<Self, Complaint> {
        let remedy = "write a SELECT that gives one number";
        if text.trim().is_empty() {
            return Err(Complaint::new("the question is empty", remedy));
        }
        if text.len() > Sql::MOST {
            let what = format!("the question has {} bytes", text.len());
            return Err(Complaint::new(what, format!("write at most {}, or make it a view", Sql::MOST)));
        }
        match statement::scan(text.as_bytes(), statement::Mode::default()).class {
            // A function of one's own may be just what is asked.
            Class::Read | Class::Call if asks(text) => Ok(Sql(text.to_owned())),
            // `SELECT @@…` is.
            Class::Control if asks(text) => Ok(Sql(text.to_owned())),
            Class::Read | Class::Call | Class::Control | Class::Write | Class::Ddl | Class::Unparsed => {
                Err(Complaint::new("this is no question, and would be done at every sample", remedy))
            }
        }
    }
}

fn asks(text: &str) -> bool {
    let word = text.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
    let word = word.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["select", "with", "table", "values"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

impl<'de> Deserialize<'de> for Sql {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "a SELECT that gives one number", Self::parse)
    }
}

/// `http://host:port/path`
pub(crate) struct Url(pub(crate) String);

impl Url {
    fn parse(text: &str) -> Result<Self, Complaint> {
        let remedy = "write a plain address, such as `http://127.0.0.1:9100/load`";
        if text.starts_with("https://") {
            let what = "https is not spoken here";
            let remedy = "ask over http, on this machine or in a network that you trust: `http://127.0.0.1:9100/load`";
            return Err(Complaint::new(what, remedy));
        }
        let wrong = || Complaint::new(format!("`{text}` is not an address of http"), remedy);
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let host = rest.split(['/', '?']).next().unwrap_or_default();
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) || host.is_empty() || rest.contains('#') {
            return Err(wrong());
        }
        if host.contains('@') {
            return Err(Complaint::new("a user or password in the address is not sent", remedy));
        }
        if text.len() > 2048 {
            return Err(Complaint::new("the address is too long", "write one of at most 2048 bytes"));
        }
        let port = host.rsplit_once(':').filter(|(before, _)| !before.starts_with('[') || before.ends_with(']'));
        if port.is_some_and(|(before, port)| before.is_empty() || !port.parse::<u16>().is_ok_and(|port| port > 0)) {
            return Err(Complaint::new(format!("`{host}` has no port from 1 to 65535"), remedy));
        }
        Ok(Url(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_text(deserializer, "an address of http, such as `http://127.0.0.1:9100/load`", Self::parse)
    }
}
