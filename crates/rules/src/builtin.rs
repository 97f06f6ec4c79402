//! Rules of our own. They are listed like any other and count like any other, but for where they compete: with the rules of
//! the file and with those of the run time.

use crate::matching::{Condition, Key, Match, Value};
use crate::rule::{Do, InTransaction, Mode, Origin, Rule, Share, UnknownTables};
use statement::{Class, Table};

/// Above what a rule has that says nothing, so that a rule for everybody does not reach them by having more keys. Who means
/// it can still own them, with a higher priority.
pub const PRIORITY: i32 = 1000;

/// Writers of heartbeats, by user and by table: held back they would look like lag, and be held back the more.
pub fn heartbeat(users: &[Box<[u8]>], tables: &[Table]) -> Vec<Rule> {
    let mut rules = Vec::new();
    if !users.is_empty() {
        let users = users.iter().cloned().map(Value::Text).collect();
        rules.push(exemption("built-in-heartbeat-user", vec![Condition { key: Key::User, values: users }]));
    }
    if !tables.is_empty() {
        let table = |table: &Table| Value::Table { schema: table.schema.clone(), name: table.name.clone() };
        let tables = Condition { key: Key::Table, values: tables.iter().map(table).collect() };
        let writes = Condition { key: Key::Class, values: vec![Value::Class(Class::Write)] };
        // A probe user that does not see the table is no reason to delay a heartbeat. One that sees a view of this name is.
        let by_table = exemption("built-in-heartbeat-table", vec![tables, writes]);
        rules.push(Rule { unknown_tables: UnknownTables::Match, ..by_table });
    }
    rules
}

fn exemption(id: &str, conditions: Vec<Condition>) -> Rule {
    Rule {
        id: id.into(),
        origin: Origin::BuiltIn,
        matching: Match { conditions, not: Vec::new() },
        effect: Do { share: Some(Share::Exempt), ..Do::default() },
        action: None,
        max_delay: None,
        // Whatever the default is: to warn only, or to do nothing, about other rules is no reason to delay a heartbeat.
        mode: Some(Mode::Enforce),
        priority: PRIORITY,
        overrides: false,
        in_transaction: InTransaction::Pass,
        unknown_tables: UnknownTables::Ignore,
        active: None,
        expires: None,
        created: None,
        created_by: None,
        reason: Some("writes the heartbeat by which replication lag is measured".to_owned()),
        incident: None,
        playbook: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heartbeat_writers_are_exempt_by_user_and_by_table() {
        let table = |schema: Option<&str>| Table { schema: schema.map(Into::into), name: "heartbeat".into() };
        for (users, tables, ids) in [
            (&[][..], &[][..], &[][..]),
            (&[b"hb"[..].into()], &[], &["built-in-heartbeat-user"]),
            (&[], &[table(None)], &["built-in-heartbeat-table"]),
            (
                &[b"hb"[..].into(), b"pt"[..].into()],
                &[table(Some("percona")), table(None)],
                &["built-in-heartbeat-user", "built-in-heartbeat-table"],
            ),
        ] {
            let rules = heartbeat(users, tables);
            assert_eq!(rules.iter().map(|rule| &*rule.id).collect::<Vec<_>>(), ids);
            for rule in &rules {
                assert_eq!(rule.effect.share, Some(Share::Exempt));
                assert_eq!((rule.origin, rule.expires, rule.mode), (Origin::BuiltIn, None, Some(Mode::Enforce)));
                let values = rule.matching.conditions.first().map(|condition| condition.values.len());
                assert_eq!(values, Some(users.len().max(tables.len())));
            }
        }
    }
}
