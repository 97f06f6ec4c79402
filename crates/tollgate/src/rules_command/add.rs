use std::io::Read;
use std::process::ExitCode;

use anyhow::{Context, bail};
use serde_json::{Map, Value as Json, json};

use super::shown;
use crate::pair::Pair;
use crate::print::Output;
use crate::running::Where;

#[derive(Debug, clap::Args)]
pub(crate) struct Add {
    #[command(flatten)]
    whom: Whom,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    about: About,
    /// A rule as JSON: the text itself, a file, or `-`. Other options come on top of it.
    #[arg(long, value_name = "JSON|FILE|-")]
    from: Option<String>,
    #[command(flatten)]
    proxy: Where,
    #[command(flatten)]
    output: Output,
}

/// All that is given must match; of an option given several times, any.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Whom it concerns")]
struct Whom {
    /// A client's name, a part of it, or a glob such as '*:etl:*'; '*' is everyone.
    #[arg(long, value_name = "NAME")]
    scope: Vec<String>,
    #[arg(long)]
    user: Vec<String>,
    /// An address or a network, such as 10.2.0.0/16.
    #[arg(long, value_delimiter = ',')]
    address: Vec<String>,
    #[arg(long)]
    schema: Vec<String>,
    #[arg(long)]
    listener: Vec<String>,
    /// read, write, call, unparsed, ddl.
    #[arg(long, value_delimiter = ',')]
    class: Vec<String>,
    #[arg(long, value_name = "[SCHEMA.]TABLE")]
    table: Vec<String>,
    /// no_where, no_limit, select_star.
    #[arg(long, value_delimiter = ',')]
    shape: Vec<String>,
    /// gh-ost, pt-online-schema-change, mysqldump …
    #[arg(long)]
    tool: Vec<String>,
    /// Ours, MySQL's DIGEST, or the statement itself.
    #[arg(long)]
    fingerprint: Vec<String>,
    /// Of a comment in the SQL.
    #[arg(long, value_name = "KEY=VALUE")]
    tag: Vec<Pair>,
    /// Of the connection.
    #[arg(long, value_name = "KEY=VALUE")]
    attr: Vec<Pair>,
    #[arg(long, value_name = "KEY=VALUE")]
    query_attr: Vec<Pair>,
    /// What must not match, such as user=web or tag.team=data.
    #[arg(long, value_name = "KEY=VALUE")]
    not: Vec<Pair>,
}

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "What it does")]
struct What {
    /// The part that loses, from 0 (none) to 1 (all).
    #[arg(long, value_name = "RATIO", conflicts_with_all = ["exempt", "hold"])]
    ratio: Option<f64>,
    /// Let them pass whatever else holds.
    #[arg(long, conflicts_with = "hold")]
    exempt: bool,
    /// Hold them until the rule ends or max_delay, then refuse.
    #[arg(long)]
    hold: bool,
    /// Statements or transactions at once, of all that match together.
    #[arg(long, value_name = "COUNT")]
    max_concurrency: Option<u32>,
    /// Connections at once, of all that match together.
    #[arg(long, value_name = "COUNT")]
    max_connections: Option<u32>,
    /// Another threshold at a gate, such as replication_lag=2s.
    #[arg(long, value_name = "GATE=VALUE")]
    threshold: Vec<Pair>,
    /// A gate that they pass.
    #[arg(long, value_name = "GATE")]
    skip_gate: Vec<String>,
    /// How much their turn counts in the queue, from 0.01 to 100; others have 1.
    #[arg(long, value_name = "NUMBER")]
    weight: Option<f64>,
    /// delay or reject.
    #[arg(long)]
    action: Option<String>,
    /// How long they are held at most, such as 10s.
    #[arg(long, value_name = "TIME")]
    max_delay: Option<String>,
    /// enforce, warn or off.
    #[arg(long)]
    mode: Option<String>,
    /// The higher owns, whatever else is more specific.
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// It stands even where a rule of the file is stricter.
    #[arg(long = "override")]
    overrides: bool,
    /// What becomes of transactions that have written: pass, delay or reject.
    #[arg(long, value_name = "ACTION")]
    in_transaction: Option<String>,
    /// What a table name that the server's catalogue does not know means to the rule: ignore or match.
    #[arg(long, value_name = "WORD")]
    unknown_tables: Option<String>,
}

#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "How long and why")]
struct About {
    /// How long from now, such as 2h. Else by what it does: 1h to 24h.
    #[arg(long = "for", value_name = "TIME", conflicts_with = "expires")]
    lifetime: Option<String>,
    /// When it ends, such as 2026-04-21T16:00:00Z.
    #[arg(long, value_name = "MOMENT")]
    expires: Option<String>,
    #[arg(long)]
    reason: Option<String>,
    /// A name for it; else it gets one.
    #[arg(long)]
    id: Option<String>,
    #[arg(long)]
    incident: Option<String>,
    /// Who adds it [default: you, at this machine].
    #[arg(long, value_name = "WHO")]
    created_by: Option<String>,
}

impl Add {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let from = self.from.as_deref().map(read).transpose()?.unwrap_or_default();
        let rule = self.json(from, &shown::by_hand());
        let answer = self.proxy.running()?.post("/rules", &rule)?;
        self.output.show(&answer, |style| shown::added(&answer, "added", style));
        Ok(ExitCode::SUCCESS)
    }

    /// The rule as it would be written, on top of the one that was given.
    fn json(&self, mut rule: Map<String, Json>, by: &str) -> Json {
        below(&mut rule, "match", self.whom.json());
        below(&mut rule, "do", self.what.effect());
        rule.extend(self.what.manner());
        rule.extend(self.about.json());
        rule.entry("created_by").or_insert_with(|| json!(by));
        Json::Object(rule)
    }
}

/// Keys that go into an object within the rule.
fn below(rule: &mut Map<String, Json>, key: &str, keys: Map<String, Json>) {
    match rule.get_mut(key).and_then(Json::as_object_mut) {
        Some(object) => object.extend(keys),
        None if keys.is_empty() => {}
        None => drop(rule.insert(key.to_owned(), Json::Object(keys))),
    }
}

impl Whom {
    fn json(&self) -> Map<String, Json> {
        let mut keys = Map::new();
        for (key, values) in [
            ("scope", &self.scope),
            ("user", &self.user),
            ("address", &self.address),
            ("schema", &self.schema),
            ("listener", &self.listener),
            ("class", &self.class),
            ("table", &self.table),
            ("shape", &self.shape),
            ("tool", &self.tool),
            ("fingerprint", &self.fingerprint),
        ] {
            values.iter().for_each(|value| put(&mut keys, key, value));
        }
        for (prefix, pairs) in [("tag", &self.tag), ("attr", &self.attr), ("query_attr", &self.query_attr)] {
            pairs.iter().for_each(|pair| put(&mut keys, &format!("{prefix}.{}", pair.key), &pair.value));
        }
        let mut not = Map::new();
        for Pair { key, value } in &self.not {
            let is_list = ["class", "shape", "address"].contains(&key.as_str());
            let values: Vec<&str> = if is_list { value.split(',').collect() } else { vec![value] };
            values.iter().for_each(|value| put(&mut not, key, value));
        }
        if !not.is_empty() {
            keys.insert("not".to_owned(), Json::Object(not));
        }
        keys
    }
}

/// One value as itself, several as a list.
fn put(keys: &mut Map<String, Json>, key: &str, value: &str) {
    match keys.get_mut(key) {
        None => drop(keys.insert(key.to_owned(), json!(value))),
        Some(Json::Array(values)) => values.push(json!(value)),
        Some(one) => *one = json!([one.take(), value]),
    }
}

impl What {
    fn effect(&self) -> Map<String, Json> {
        some([
            ("rejection_ratio", self.ratio.map(|ratio| json!(ratio))),
            ("exempt", self.exempt.then_some(Json::Bool(true))),
            ("hold", self.hold.then_some(Json::Bool(true))),
            ("max_concurrency", self.max_concurrency.map(|count| json!(count))),
            ("max_connections", self.max_connections.map(|count| json!(count))),
            ("thresholds", self.thresholds()),
            ("skip_gates", (!self.skip_gate.is_empty()).then(|| json!(self.skip_gate))),
            ("weight", self.weight.map(|weight| json!(weight))),
        ])
    }

    /// A time or a percentage is a text, a count is a number; which of them the gate takes the proxy knows.
    fn thresholds(&self) -> Option<Json> {
        let value = |text: &str| text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number));
        let thresholds: Map<String, Json> =
            self.threshold.iter().map(|Pair { key, value: text }| (key.clone(), value(text))).collect();
        (!thresholds.is_empty()).then_some(Json::Object(thresholds))
    }

    fn manner(&self) -> Map<String, Json> {
        some([
            ("action", self.action.as_ref().map(|word| json!(word))),
            ("max_delay", self.max_delay.as_ref().map(|time| json!(time))),
            ("mode", self.mode.as_ref().map(|word| json!(word))),
            ("priority", self.priority.map(|number| json!(number))),
            ("override", self.overrides.then_some(Json::Bool(true))),
            ("in_transaction", self.in_transaction.as_ref().map(|word| json!(word))),
            ("unknown_tables", self.unknown_tables.as_ref().map(|word| json!(word))),
        ])
    }
}

impl About {
    fn json(&self) -> Map<String, Json> {
        let texts = [
            ("for", &self.lifetime),
            ("expires", &self.expires),
            ("reason", &self.reason),
            ("id", &self.id),
            ("incident", &self.incident),
            ("created_by", &self.created_by),
        ];
        some(texts.map(|(key, text)| (key, text.as_ref().map(|text| json!(text)))))
    }
}

fn some<const N: usize>(keys: [(&str, Option<Json>); N]) -> Map<String, Json> {
    keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

/// The text itself, a file, or standard input.
fn read(from: &str) -> anyhow::Result<Map<String, Json>> {
    let text = match from {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read the rule from standard input")?;
            text
        }
        text if text.trim_start().starts_with('{') => text.to_owned(),
        file => std::fs::read_to_string(file).with_context(|| format!("cannot read the rule from {file}"))?,
    };
    match serde_json::from_str(&text).context("the rule is not JSON")? {
        Json::Object(rule) => Ok(rule),
        _ => bail!("the rule is not a JSON object: write `{{ \"match\": {{ … }}, \"do\": {{ … }} }}`"),
    }
}

#[cfg(test)]
mod tests;
