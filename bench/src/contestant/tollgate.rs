//! Tollgate itself, plain on both legs, with nothing but the session, or with rules about others.

use super::Ground;
use crate::child::{Child, Output};
use anyhow::Result;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;

pub(super) fn start(name: &str, program: &Path, rules: u32, listen: SocketAddr, ground: Ground<'_>) -> Result<Child> {
    let file = ground.folder.join(format!("{name}-{}.yaml", listen.port()));
    fs::write(&file, config(listen, ground.upstream, rules))?;
    let arguments = ["run".to_owned(), "--config".to_owned(), file.display().to_string()];
    Child::start(name, program, &arguments, ground.folder, Output::Log)
}

/// The limits are far above what is measured, so that none of them is.
fn config(listen: SocketAddr, upstream: SocketAddr, rules: u32) -> String {
    let mut text = format!(
        "listen: {listen}
upstream:
  address: {upstream}
  tls: disabled
limits:
  connections: 5000
  unauthenticated: 1000
admin: {{ http: off }}
"
    );
    if rules > 0 {
        text.push_str("rules:\n");
        (0..rules).for_each(|number| text.push_str(&rule(number)));
    }
    text
}

/// Of every kind of key in turn, and about nobody who is here: what a query costs that no rule concerns.
fn rule(number: u32) -> String {
    let [.., third, fourth] = number.to_be_bytes();
    let matching = match number % 8 {
        0 => format!("user: user-{number}"),
        1 => format!("schema: schema-{number}"),
        2 => format!("scope: job-{number}"),
        3 => format!("scope: \"job-{number}:*\""),
        4 => format!("address: 10.{third}.{fourth}.0/24"),
        5 => format!("attr.program_name: program-{number}"),
        6 => format!("tag.team: team-{number}"),
        _ => format!("user: user-{number}, class: [write, ddl], table: shop.table_{number}"),
    };
    format!("- {{ id: rule-{number}, match: {{ {matching} }}, do: {{ rejection_ratio: 0.5 }}, permanent: true }}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_only_where_they_are_asked_for() {
        let [listen, upstream] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        assert!(!config(listen, upstream, 0).contains("rules"));
        let text = config(listen, upstream, 1000);
        assert_eq!(text.matches("\n- { id: rule-").count(), 1000);
        for part in ["user: user-0 }", "scope: \"job-3:*\"", "address: 10.1.4.0/24", "tag.team: team-998"] {
            assert!(text.contains(part), "no {part:?}");
        }
    }
}
