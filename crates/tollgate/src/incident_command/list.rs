use std::process::ExitCode;

use serde_json::Value as Json;

use crate::print::{Align, Output, Style, Table, Tone, items, moment, text};
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

impl List {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let answer = self.proxy.running()?.get("/incidents")?;
        self.output.show(&answer, |style| shown(&answer, style));
        Ok(ExitCode::SUCCESS)
    }
}

fn shown(answer: &Json, style: &Style) -> String {
    let columns = ["INCIDENT", "PLAYBOOK", "OPENED", "BY", "REASON"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for incident in items(answer, "incidents") {
        let cells = ["id", "playbook", "opened", "opened_by", "reason"].map(|key| text(incident, key));
        table.row(cells.map(|cell| (moment(&cell), Tone::Plain)));
    }
    if table.is_empty() { "no incident is open\n".to_owned() } else { table.render(style) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn incidents_as_a_table() {
        let open = json!({ "incidents": [{ "id": "INC-42", "playbook": null, "opened": "2026-04-21T16:00:00.1Z",
                                           "opened_by": "me@here", "reason": "lag" }] });
        assert_eq!(
            shown(&open, &Style::PLAIN),
            "INCIDENT  PLAYBOOK  OPENED                BY       REASON\n\
             INC-42              2026-04-21T16:00:00Z  me@here  lag\n"
        );
        assert_eq!(shown(&json!({ "incidents": [] }), &Style::PLAIN), "no incident is open\n");
    }
}
