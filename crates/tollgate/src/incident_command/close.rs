use std::process::ExitCode;

use serde_json::{Value as Json, json};

use crate::http::escaped;
use crate::print::{Output, Style, Tone, harmless, items, text};
use crate::rules_command::by_hand;
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct Close {
    /// The incident.
    id: String,
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

impl Close {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let path = format!("/incidents/{}", escaped(&self.id));
        let answer = self.proxy.running()?.delete(&path, &json!({ "by": by_hand() }))?;
        self.output.show(&answer, |style| shown(&answer, style));
        Ok(ExitCode::SUCCESS)
    }
}

fn shown(answer: &Json, style: &Style) -> String {
    let names = |key: &str| -> String {
        let names: Vec<String> = items(answer, key).iter().filter_map(Json::as_str).map(harmless).collect();
        names.join(", ")
    };
    let mut lines = vec![style.paint(Tone::Bold, &format!("closed {}", text(answer, "id")))];
    for (key, says) in [("ended", "ended"), ("stay", "added by hand, and still in force")] {
        let names = names(key);
        if !names.is_empty() {
            lines.push(format!("  {says}: {names}"));
        }
    }
    let at_work = names("still_at_work");
    if !at_work.is_empty() {
        let warning = format!("warning: still at work within the last minute: {at_work}");
        lines.push(style.paint(Tone::Careful, &warning));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_closing_says() {
        let answer = json!({ "id": "INC-42", "ended": ["a", "b"], "stay": [], "still_at_work": ["b"] });
        assert_eq!(
            shown(&answer, &Style::PLAIN),
            "closed INC-42\n  ended: a, b\nwarning: still at work within the last minute: b\n"
        );
    }
}
