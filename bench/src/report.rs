//! The table in the terminal: one block a workload, the aims beside the figures, and all aims at the end.

pub mod json;
pub(crate) mod table;

use crate::aims::{self, Aim, Mark};
use crate::contestant::Role;
use crate::figure::Figure;
use crate::machine::Disturbance;
use crate::progress::human;
use crate::rounds::{Block, Rounds};
use crate::stats::Median;
use table::{Align, Table};

/// Those that the others are divided by, in the order of the columns: Tollgate itself where it runs with rules too.
fn references(rounds: &Rounds) -> impl Iterator<Item = Role> {
    let with_rules = rounds.with_role(Role::Ruled).map(|_| Role::Subject);
    [Role::Direct, Role::Haproxy, Role::Relay].into_iter().chain(with_rules)
}

pub fn print(rounds: &Rounds, disturbance: Option<Disturbance>) {
    print!("{}", render(rounds));
    if let Some(Disturbance { others, stolen }) = disturbance {
        let (others, stolen) = (others * 100.0, stolen * 100.0);
        println!(
            "\nOther programs took {others:.0} % of this machine during the rounds, and other machines {stolen:.0} %."
        );
    }
}

fn render(rounds: &Rounds) -> String {
    let mut text = String::new();
    for block in rounds.blocks.iter().filter(|block| !block.figures().is_empty()) {
        text.push_str(&format!("\n{}\n{}", block.workload.title(), block_table(rounds, block).render()));
    }
    text.push_str(&format!("\n{} in {}.", rounds_text(rounds), human(rounds.elapsed)));
    text.push_str(" Medians over rounds; ratios are taken within each round.\n[95 % interval]; (all that was seen), where there were fewer than six rounds.\n");
    let aims = aims_table(rounds);
    if !aims.is_empty() {
        text.push_str(&format!("\nAims\n{}", aims.render()));
    }
    for failure in &rounds.failures {
        let (workload, contestant, round) = (&failure.workload, &failure.contestant, failure.round);
        text.push_str(&format!("\nFAILED {workload} · {contestant} · round {round}: {}", failure.reason));
    }
    text.push('\n');
    text
}

fn rounds_text(rounds: &Rounds) -> String {
    let (done, planned) = (rounds.done, rounds.planned);
    if done < planned { format!("{done} of {planned} rounds") } else { format!("{done} rounds") }
}

fn block_table(rounds: &Rounds, block: &Block) -> Table {
    let references: Vec<(usize, &str)> = references(rounds)
        .filter_map(|role| rounds.with_role(role))
        .map(|index| (index, rounds.contestants[index].name.as_str()))
        .collect();
    let mut header = vec![String::new(), String::new(), "median".to_owned(), "interval".to_owned()];
    header.extend(references.iter().map(|(_, name)| format!("× {name}")));
    header.push("aim".to_owned());
    let mut columns = vec![Align::Left, Align::Left, Align::Right];
    columns.resize(header.len(), Align::Left);
    let mut table = Table::new(columns, header);
    for figure in block.figures() {
        let mut label = figure.name().to_owned();
        for (index, contestant) in rounds.contestants.iter().enumerate() {
            let Some(median) = block.median(index, figure) else { continue };
            let mut row = vec![
                std::mem::take(&mut label),
                contestant.name.clone(),
                number(median.value),
                interval(median, number),
            ];
            row.extend(references.iter().map(|(to, _)| ratio_text(block, index, *to, figure)));
            row.push(aims_text(rounds, block, index, figure));
            table.row(row);
        }
    }
    table
}

fn ratio_text(block: &Block, contestant: usize, to: usize, figure: Figure) -> String {
    if contestant == to {
        return String::new();
    }
    block.ratio(contestant, to, figure).map_or(String::new(), with_interval)
}

fn with_interval(ratio: Median) -> String {
    format!("{:.2} {}", ratio.value, interval(ratio, |value| format!("{value:.2}")))
}

/// Square brackets only around what is an interval of 95 %.
fn interval(median: Median, text: impl Fn(f64) -> String) -> String {
    let range = format!("{} – {}", text(median.low), text(median.high));
    match median.rounds {
        0 | 1 => String::new(),
        _ if median.has_interval() => format!("[{range}]"),
        _ => format!("({range})"),
    }
}

fn aims_text(rounds: &Rounds, block: &Block, contestant: usize, figure: Figure) -> String {
    let aims =
        aims::of(block.workload, rounds.contestants[contestant].role).into_iter().filter(|aim| aim.figure == figure);
    let marked = aims.filter_map(|aim| {
        Some(format!("{} {}", aim.describe(), aim.mark(aim.seen(rounds, block, contestant)?).text()))
    });
    marked.collect::<Vec<_>>().join(", ")
}

/// Every aim of every build of Tollgate, with what was seen.
pub fn all_aims(rounds: &Rounds) -> Vec<(&Block, usize, Aim, Median, Mark)> {
    let mut all = Vec::new();
    for (index, name) in rounds.contestants.iter().enumerate() {
        for block in &rounds.blocks {
            for aim in aims::of(block.workload, name.role) {
                if let Some(seen) = aim.seen(rounds, block, index) {
                    all.push((block, index, aim, seen, aim.mark(seen)));
                }
            }
        }
    }
    all
}

fn aims_table(rounds: &Rounds) -> Table {
    let header = ["", "workload", "figure", "aim", "seen", "mark"].map(str::to_owned).to_vec();
    let mut table = Table::new(vec![Align::Left; header.len()], header);
    for (block, index, aim, seen, mark) in all_aims(rounds) {
        table.row(vec![
            rounds.contestants[index].name.clone(),
            block.workload.name(),
            aim.figure.name().to_owned(),
            aim.describe(),
            with_interval(seen),
            mark.text().to_owned(),
        ]);
    }
    table
}

/// Three or more digits that mean something, thousands apart.
fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        let digits = format!("{value:.0}");
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
        return groups.join(",");
    }
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Sample;
    use crate::rounds::Name;
    use crate::workload::Workload;
    use std::time::Duration;

    #[test]
    fn numbers_for_people() {
        for (value, expected) in
            [(0.123, "0.12"), (12.34, "12.3"), (123.4, "123"), (1234.5, "1,234"), (1_234_567.0, "1,234,567")]
        {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn a_report_sets_the_aims_beside_the_figures() {
        let samples = |value: f64| (0..20).map(|_| Some(Sample::default().with(Figure::Connections, value))).collect();
        let name = |name: &str, role| Name { name: name.to_owned(), role };
        let block = Block {
            workload: Workload::Connect { workers: 8 },
            samples: vec![samples(2000.0), samples(1000.0), samples(900.0)],
        };
        let rounds = Rounds {
            blocks: vec![block],
            contestants: vec![
                name("direct", Role::Direct),
                name("haproxy", Role::Haproxy),
                name("tollgate", Role::Subject),
            ],
            failures: Vec::new(),
            done: 20,
            planned: 20,
            elapsed: Duration::from_secs(60),
        };
        let text = render(&rounds);
        for expected in
            ["8 workers", "0.45 [0.45 – 0.45]", "0.90 [0.90 – 0.90]", "≥ 0.80 × haproxy met", "20 rounds in 60 s"]
        {
            assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
        }
    }
}
