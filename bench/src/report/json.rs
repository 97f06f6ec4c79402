//! Everything that was measured, for programs and for later.

use super::all_aims;
use crate::figure::Sample;
use crate::machine::{Disturbance, Machine};
use crate::rounds::{Block, Rounds};
use crate::stats::Median;
use serde_json::{Map, Value, json};

pub fn render(
    rounds: &Rounds,
    machine: &Machine,
    server: &str,
    described: &[String],
    disturbance: Option<Disturbance>,
) -> Value {
    let names: Vec<&str> = rounds.contestants.iter().map(|contestant| contestant.name.as_str()).collect();
    let contestants: Map<String, Value> =
        names.iter().zip(described).map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
    let aims: Vec<Value> = all_aims(rounds)
        .into_iter()
        .map(|(block, index, aim, seen, mark)| {
            json!({
                "contestant": names[index], "workload": block.workload.name(), "figure": aim.figure.key(),
                "aim": aim.describe(), "seen": median(seen), "mark": mark.text(),
            })
        })
        .collect();
    let failures: Vec<Value> = rounds
        .failures
        .iter()
        .map(|f| json!({ "workload": f.workload, "contestant": f.contestant, "round": f.round, "reason": f.reason }))
        .collect();
    json!({
        "machine": { "cores": machine.cores, "processor": machine.processor, "kernel": machine.kernel },
        "disturbance": disturbance.map(|d| json!({ "others": d.others, "stolen": d.stolen })),
        "server": server,
        "contestants": contestants,
        "rounds": { "done": rounds.done, "planned": rounds.planned, "seconds": rounds.elapsed.as_secs() },
        "workloads": rounds.blocks.iter().map(|b| (b.workload.name(), block(rounds, b))).collect::<Map<_, _>>(),
        "aims": aims,
        "failures": failures,
    })
}

/// For each contestant: medians, ratios to all others, and the samples themselves.
fn block(rounds: &Rounds, block: &Block) -> Value {
    let contestant = |index: usize| {
        let figures = block.figures().into_iter().filter_map(|figure| {
            let ratios: Map<String, Value> = (0..rounds.contestants.len())
                .filter(|to| *to != index)
                .filter_map(|to| Some((rounds.contestants[to].name.clone(), median(block.ratio(index, to, figure)?))))
                .collect();
            Some((
                figure.key().to_owned(),
                json!({ "median": median(block.median(index, figure)?), "ratio_to": ratios }),
            ))
        });
        json!({ "figures": figures.collect::<Map<_, _>>(), "samples": block.samples[index].iter().map(sample).collect::<Vec<_>>() })
    };
    let all = rounds.contestants.iter().enumerate().map(|(index, name)| (name.name.clone(), contestant(index)));
    Value::Object(all.collect())
}

fn sample(sample: &Option<Sample>) -> Value {
    let Some(sample) = sample else { return Value::Null };
    Value::Object(sample.figures().map(|(figure, value)| (figure.key().to_owned(), json!(value))).collect())
}

fn median(median: Median) -> Value {
    json!({ "value": median.value, "low": median.low, "high": median.high, "rounds": median.rounds })
}
