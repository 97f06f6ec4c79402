//! What operators' commands print: tables and colours on a terminal, the same without colours elsewhere, JSON on request.

mod gate;
mod rule;
mod table;
mod time;

use std::io::{IsTerminal, Write, stdout};

use serde_json::Value as Json;

pub(crate) use gate::{age, amount, state_tone};
pub(crate) use rule::{does, whom};
pub(crate) use table::{Align, Table};
pub(crate) use time::{left, moment};

/// Machines ask for JSON.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Output {
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

impl Output {
    /// The answer as it came, or as `shown` makes it readable.
    pub(crate) fn show(self, answer: &Json, shown: impl FnOnce(&Style) -> String) {
        match self.json {
            true => show(&format!("{answer:#}\n")),
            false => show(&shown(&Style::of_stdout())),
        }
    }
}

/// How much can be done where it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    /// Of a terminal: longer lines would break. `None`: they may be as long as they are.
    pub(crate) width: Option<usize>,
}

impl Style {
    #[cfg(test)]
    pub(crate) const PLAIN: Style = Style { colour: false, width: None };

    fn of_stdout() -> Style {
        let terminal = stdout().is_terminal();
        // no-color.org: whatever its value is, unless it is empty.
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let size = rustix::termios::tcgetwinsize(stdout()).ok();
        let width = size.map(|size| usize::from(size.ws_col)).filter(|width| terminal && *width >= 40);
        Style { colour: terminal && !unwanted, width }
    }

    pub(crate) fn paint(&self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Bold => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Careful => "33",
            Tone::Bad => "31",
        };
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Bold,
    Faint,
    Good,
    Careful,
    Bad,
}

/// What clients call themselves must not steer the terminal.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// A text of an answer, ready to be printed.
pub(crate) fn text(json: &Json, key: &str) -> String {
    match json.get(key) {
        Some(Json::String(text)) => harmless(text),
        None | Some(Json::Null) => String::new(),
        Some(other) => harmless(&other.to_string()),
    }
}

/// The items of a list in an answer.
pub(crate) fn items<'a>(json: &'a Json, key: &str) -> &'a [Json] {
    json.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Nobody may be reading any more; that is no reason to fail.
pub(crate) fn show(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}
