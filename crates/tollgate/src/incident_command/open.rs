use std::process::ExitCode;

use serde_json::{Value as Json, json};

use crate::print::{Output, Style, Tone, items, text};
use crate::rules_command::{added, by_hand};
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct Open {
    /// Its name, such as INC-42.
    id: String,
    /// One of `playbooks` in proxy.yaml, whose rules are put in force.
    #[arg(long)]
    playbook: Option<String>,
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

impl Open {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let incident = json!({ "id": self.id, "playbook": self.playbook, "reason": self.reason, "by": by_hand() });
        let answer = self.proxy.running()?.post("/incidents", &incident)?;
        self.output.show(&answer, |style| shown(&answer, style));
        Ok(ExitCode::SUCCESS)
    }
}

fn shown(answer: &Json, style: &Style) -> String {
    let rules: String = items(answer, "rules").iter().map(|rule| added(rule, "added", style)).collect();
    let line = style.paint(Tone::Bold, &format!("opened {}", text(answer, "id")));
    let none =
        if rules.is_empty() { "  no playbook: add rules with `tollgate rules add --incident …`\n" } else { "" };
    format!("{line}\n{none}{rules}")
}
