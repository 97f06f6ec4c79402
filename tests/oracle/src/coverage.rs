//! What a campaign has covered.

use std::collections::BTreeMap;
use std::fmt;

use crate::case::{Case, Protocol};
use crate::evidence::Happened;
use crate::grammar::{Grammar, count_hits, sorted};

/// Counts of a campaign; those of several workers add up.
#[derive(Debug, Default)]
pub struct Coverage {
    pub packets: u64,
    /// Every statement of the packet succeeded.
    pub accepted: u64,
    /// Some statement of the packet succeeded.
    pub partly: u64,
    /// The connection was lost, or the evidence was.
    pub unjudged: u64,
    pub incomplete: u64,
    pub wrote: u64,
    pub ran_ddl: u64,
    pub free: u64,
    pub unknown_tables: u64,
    /// Hits of the grammar's alternatives, by their numbers.
    pub alternatives: Vec<u64>,
    pub rules: BTreeMap<String, u64>,
    /// Rules and alternatives of the grammar that no packet was made of.
    pub never_generated: Vec<String>,
    events: BTreeMap<String, u64>,
    charsets: BTreeMap<String, u64>,
    modes: BTreeMap<String, u64>,
    decorations: BTreeMap<String, u64>,
    classes: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    pub failures: BTreeMap<String, u64>,
    /// Holes that are not closed yet.
    pub known: BTreeMap<String, u64>,
}

impl Coverage {
    /// `used` are the numbers of the grammar's alternatives.
    pub fn generated(&mut self, case: &Case, used: &[usize], decoration: &str) {
        count_hits(&mut self.alternatives, used);
        let count = |map: &mut BTreeMap<String, u64>, key: &str| *map.entry(key.to_owned()).or_default() += 1;
        count(&mut self.charsets, &case.setup.charset);
        count(&mut self.modes, if case.setup.sql_mode.is_empty() { "default" } else { &case.setup.sql_mode });
        count(&mut self.decorations, decoration);
        if case.protocol == Protocol::Prepared {
            count(&mut self.decorations, "COM_STMT_PREPARE");
        }
        if !case.earlier.is_empty() {
            count(&mut self.decorations, &format!("sequence of {}", case.earlier.len() + 1));
        }
    }

    pub fn happened(&mut self, happened: &Happened) {
        self.accepted += u64::from(happened.error.is_none());
        self.partly += u64::from(happened.succeeded > 0);
        self.wrote += u64::from(happened.wrote_rows());
        self.ran_ddl += u64::from(happened.ran_ddl());
        self.incomplete += u64::from(happened.incomplete);
        for event in happened.events.iter().filter(|event| !event.failed) {
            *self.events.entry(event.name.clone()).or_default() += 1;
        }
        if let Some((code, _)) = &happened.error {
            *self.errors.entry(code.to_string()).or_default() += 1;
        }
    }

    pub fn read(&mut self, reading: &crate::reading::Reading) {
        for class in &reading.classes {
            *self.classes.entry(format!("{class:?}")).or_default() += 1;
        }
        self.free += u64::from(reading.free);
        self.unknown_tables += u64::from(reading.tables.is_none());
    }

    /// Gives the hits their names; once all are counted.
    pub fn name_hits(&mut self, grammar: &Grammar) {
        self.rules = grammar.rules_hit(&self.alternatives);
        self.never_generated = grammar.never_generated(&self.alternatives);
    }

    pub fn add(&mut self, other: &Coverage) {
        for (mine, others) in [
            (&mut self.packets, other.packets),
            (&mut self.accepted, other.accepted),
            (&mut self.partly, other.partly),
            (&mut self.unjudged, other.unjudged),
            (&mut self.incomplete, other.incomplete),
            (&mut self.wrote, other.wrote),
            (&mut self.ran_ddl, other.ran_ddl),
            (&mut self.free, other.free),
            (&mut self.unknown_tables, other.unknown_tables),
        ] {
            *mine += others;
        }
        self.alternatives.resize(self.alternatives.len().max(other.alternatives.len()), 0);
        for (mine, others) in self.alternatives.iter_mut().zip(&other.alternatives) {
            *mine += others;
        }
        for (mine, others) in [
            (&mut self.events, &other.events),
            (&mut self.charsets, &other.charsets),
            (&mut self.modes, &other.modes),
            (&mut self.decorations, &other.decorations),
            (&mut self.classes, &other.classes),
            (&mut self.errors, &other.errors),
            (&mut self.failures, &other.failures),
            (&mut self.known, &other.known),
        ] {
            for (key, count) in others {
                *mine.entry(key.clone()).or_default() += count;
            }
        }
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judged = self.packets.saturating_sub(self.unjudged).max(1);
        let percent = |count: u64| count * 100 / judged;
        writeln!(f, "packets            {}", self.packets)?;
        writeln!(f, "accepted whole     {} ({}%)", self.accepted, percent(self.accepted))?;
        writeln!(f, "accepted in part   {} ({}%)", self.partly, percent(self.partly))?;
        writeln!(f, "wrote rows         {} ({}%)", self.wrote, percent(self.wrote))?;
        writeln!(f, "ran DDL            {} ({}%)", self.ran_ddl, percent(self.ran_ddl))?;
        writeln!(f, "read as free       {} ({}%)", self.free, percent(self.free))?;
        writeln!(f, "tables unknown     {} ({}%)", self.unknown_tables, percent(self.unknown_tables))?;
        writeln!(f, "not judged         {}", self.unjudged)?;
        writeln!(f, "events lost        {}", self.incomplete)?;
        for (title, counts) in [
            ("rules of the grammar", &self.rules),
            ("statements that ran", &self.events),
            ("classes read", &self.classes),
            ("character sets", &self.charsets),
            ("sql_mode", &self.modes),
            ("decorations", &self.decorations),
            ("errors", &self.errors),
            ("known holes", &self.known),
            ("milder readings", &self.failures),
        ] {
            let list: Vec<String> = sorted(counts).iter().map(|(name, count)| format!("{name} {count}")).collect();
            writeln!(f, "{title}: {}", if list.is_empty() { "none".to_owned() } else { list.join(", ") })?;
        }
        // A line each: the alternatives have commas.
        writeln!(f, "rules and alternatives never generated: {}", self.never_generated.len())?;
        for never in &self.never_generated {
            writeln!(f, "    never generated: {never}")?;
        }
        Ok(())
    }
}
