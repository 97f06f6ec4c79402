//! `tollgate reload`: a running proxy reads its file again.

use std::process::ExitCode;

use serde_json::{Value as Json, json};

use crate::print::{Output, Style, Tone, harmless, items, text};
use crate::running::Where;

pub(crate) fn run(proxy: &Where, output: Output) -> anyhow::Result<ExitCode> {
    let answer = proxy.running()?.post("/reload", &json!({}))?;
    output.show(&answer, |style| shown(&answer, style));
    Ok(ExitCode::SUCCESS)
}

fn shown(answer: &Json, style: &Style) -> String {
    let outcome = match text(answer, "outcome").as_str() {
        "unchanged" => "unchanged: the file means what is in force already".to_owned(),
        "needs restart" => "nothing of what has changed can take effect while the proxy runs".to_owned(),
        other => style.paint(Tone::Good, other),
    };
    let mut lines = vec![format!("{outcome}; generation {}", text(answer, "generation"))];
    let changes = answer.get("changes").and_then(Json::as_str).unwrap_or_default();
    lines.extend(changes.lines().map(|line| format!("  {}", harmless(line))));
    let keys: Vec<String> = items(answer, "needs_restart").iter().filter_map(Json::as_str).map(harmless).collect();
    if !keys.is_empty() {
        lines.push(style.paint(Tone::Careful, &format!("these take a restart: {}", keys.join(", "))));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reload_says() {
        for (answer, shown_as) in [
            (
                json!({ "outcome": "applied", "generation": 3, "changes": "rule a added", "needs_restart": ["listen"] }),
                "applied; generation 3\n  rule a added\nthese take a restart: listen\n",
            ),
            (
                json!({ "outcome": "unchanged", "generation": 3, "changes": null, "needs_restart": [] }),
                "unchanged: the file means what is in force already; generation 3\n",
            ),
        ] {
            assert_eq!(shown(&answer, &Style::PLAIN), shown_as);
        }
    }
}
