//! The plot of a scenario: lag over time of all its runs, the writers' rate below it, and beside them a legend with the
//! figures and the foreground's latency.

mod style;

use super::plan::{Control, Plan};
use super::record::Record;
use super::report::summaries;
use super::series::{peaks, rates};
use super::summary::{Summary, seconds};
use super::svg::{Anchor, Drawing, Frame, Panel, Scale};

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 590.0;
const LAG: Frame = Frame { left: 64.0, top: 84.0, width: 620.0, height: 240.0 };
const RATE: Frame = Frame { left: 64.0, top: 374.0, width: 620.0, height: 150.0 };
/// The legend begins here, and the foreground's bars.
const BESIDE: f64 = 716.0;
const BARS: Frame = Frame { left: BESIDE + 60.0, top: 374.0, width: WIDTH - BESIDE - 60.0 - 64.0, height: 150.0 };
/// Of the lag curve, in seconds; each point is the largest lag in it.
const LAG_WINDOW: f64 = 0.25;
const RATE_WINDOW: f64 = 1.0;
/// From this multiple of the threshold on, a linear scale would flatten all but the largest.
const LOGARITHMIC_FROM: f64 = 5.0;

pub fn render(records: &[Record]) -> String {
    let Some(plan) = records.first().map(|record| &record.plan) else { return String::new() };
    let mut drawing = Drawing::default();
    let title = format!("Replication lag in a write storm: {}", plan.scenario.title());
    drawing.text("title", (LAG.left - 40.0, 30.0), Anchor::Start, &title);
    drawing.text("tick", (LAG.left - 40.0, 49.0), Anchor::Start, &subtitle(records, plan));
    lag(&mut drawing, records, plan);
    rate(&mut drawing, records, plan);
    legend(&mut drawing, records, plan);
    bars(&mut drawing, records);
    drawing.finish(WIDTH, HEIGHT, &title, style::SHEET)
}

fn subtitle(records: &[Record], plan: &Plan) -> String {
    let server = records.first().map_or("", |record| record.server.as_str());
    let rate = can_apply(records);
    format!("{server}, {} closed-loop writers; the replica can apply {rate:.0} rows a second", plan.writers)
}

/// Each run measures it anew.
fn can_apply(records: &[Record]) -> f64 {
    records.iter().map(|record| record.apply_rate).sum::<f64>() / records.len() as f64
}

fn lag(drawing: &mut Drawing, records: &[Record], plan: &Plan) {
    let threshold = plan.threshold.as_secs_f64();
    let curves: Vec<(Control, Vec<(f64, f64)>)> =
        records.iter().map(|record| (record.plan.control, peaks(&record.looks, LAG_WINDOW))).collect();
    let largest = curves.iter().flat_map(|(_, curve)| curve).map(|(_, lag)| *lag).fold(threshold * 1.2, f64::max);
    let (scale, about) = if largest > LOGARITHMIC_FROM * threshold {
        (Scale::logarithmic((threshold / 20.0).min(0.02), largest), ", logarithmic")
    } else {
        (Scale::round(largest), "")
    };
    let panel = Panel::new(LAG, Scale::linear(0.0, plan.length.as_secs_f64()), scale);
    happenings(drawing, &panel, plan, Words::Shown);
    panel.heading(drawing, &format!("Lag of the replica (largest in each 250 ms{about})"));
    panel.horizontal_grid(drawing, 5, short_seconds);
    panel.bottom_axis(drawing, 9, |value| format!("{value}"));
    for (control, curve) in &curves {
        panel.curve(drawing, &format!("curve {}", style::class(*control)), curve);
    }
    panel.level(drawing, "threshold", threshold);
    let at = (LAG.right() - 5.0, panel.y.place(threshold) - 5.0);
    drawing.text("threshold-text", at, Anchor::End, &format!("threshold {}", short_seconds(threshold)));
}

/// The axis ends at a few times what the replica can apply, or else the unlimited run is all that one sees.
fn rate(drawing: &mut Drawing, records: &[Record], plan: &Plan) {
    let length = plan.length.as_secs_f64();
    let can = can_apply(records);
    let curves: Vec<(Control, Vec<(f64, f64)>)> = records
        .iter()
        .map(|record| (record.plan.control, rates(&record.looks, RATE_WINDOW, length, |look| look.rows)))
        .collect();
    let limited = curves.iter().filter(|(control, _)| *control != Control::Off).flat_map(|(_, curve)| curve);
    let largest = limited.map(|(_, rate)| *rate).fold(can * 1.5, f64::max).min(can * 4.0);
    let panel = Panel::new(RATE, Scale::linear(0.0, length), Scale::round(largest));
    happenings(drawing, &panel, plan, Words::Left);
    panel.heading(drawing, "Rows a second that the writers committed");
    panel.horizontal_grid(drawing, 4, |value| format!("{value:.0}"));
    panel.bottom_axis(drawing, 9, |value| format!("{value}"));
    drawing.text(
        "tick",
        (RATE.left + RATE.width / 2.0, RATE.bottom() + 36.0),
        Anchor::Middle,
        "seconds since the writers began",
    );
    for (control, curve) in &curves {
        panel.curve(drawing, &format!("curve {}", style::class(*control)), curve);
        let Some(top) = curve.iter().map(|(_, rate)| *rate).reduce(f64::max).filter(|top| *top > largest) else {
            continue;
        };
        let text = format!("{} goes up to {top:.0}", control.title());
        drawing.text(
            &format!("note {}", style::class(*control)),
            (RATE.right() - 5.0, RATE.top + 14.0),
            Anchor::End,
            &text,
        );
    }
    panel.curve(drawing, "can-apply", &capacity(plan, can));
}

/// What the replica can apply, as a line with the steps that the scenario has.
fn capacity(plan: &Plan, full: f64) -> Vec<(f64, f64)> {
    let end = plan.length.as_secs_f64();
    let Some((from, to, share)) = plan.slowdown() else { return vec![(0.0, full), (end, full)] };
    let (from, to, slow) = (from.as_secs_f64(), to.as_secs_f64(), full * share);
    vec![(0.0, full), (from, full), (from, slow), (to, slow), (to, full), (end, full)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    Shown,
    Left,
}

/// The warm-up, the slowdown and the large update.
fn happenings(drawing: &mut Drawing, panel: &Panel, plan: &Plan, words: Words) {
    let say = |drawing: &mut Drawing, at: f64, text: &str| {
        if words == Words::Shown {
            drawing.text("note", (panel.x.place(at) + 5.0, panel.frame.top + 14.0), Anchor::Start, text);
        }
    };
    panel.band(drawing, "warm-up", 0.0, plan.warm_up.as_secs_f64());
    say(drawing, 0.0, "warm-up");
    if let Some((from, to, share)) = plan.slowdown() {
        panel.band(drawing, "slow", from.as_secs_f64(), to.as_secs_f64());
        say(drawing, from.as_secs_f64(), &format!("the replica at {:.0} %", share * 100.0));
    }
    if let Some((at, worth)) = plan.large_update() {
        panel.moment(drawing, "moment", at.as_secs_f64());
        say(drawing, at.as_secs_f64(), &format!("an update of {}", short_seconds(worth.as_secs_f64())));
    }
}

fn legend(drawing: &mut Drawing, records: &[Record], plan: &Plan) {
    let after = plan.warm_up.as_secs();
    drawing.text("heading", (BESIDE, LAG.top - 9.0), Anchor::Start, &format!("After the first {after} s"));
    let mut top = LAG.top + 8.0;
    for (record, summary) in summaries(records) {
        let control = record.plan.control;
        drawing.line(&format!("curve {}", style::class(control)), (BESIDE, top), (BESIDE + 20.0, top));
        drawing.text("name", (BESIDE + 27.0, top + 4.0), Anchor::Start, control.title());
        for (line, text) in (1..).zip(figures(&summary)) {
            drawing.text("tick", (BESIDE + 27.0, top + 4.0 + 14.0 * f64::from(line)), Anchor::Start, &text);
        }
        top += 47.0;
    }
    drawing.line("can-apply", (BESIDE, top), (BESIDE + 20.0, top));
    drawing.text("tick", (BESIDE + 27.0, top + 4.0), Anchor::Start, "what the replica can apply");
}

fn figures(summary: &Summary) -> [String; 2] {
    [
        format!("lag p50 {}, p99 {}", seconds(summary.lag.p50), seconds(summary.lag.p99)),
        format!("writers at {:.0} % of what it can apply", summary.share * 100.0),
    ]
}

/// The foreground's p99, and within it the median.
fn bars(drawing: &mut Drawing, records: &[Record]) {
    let all = summaries(records);
    let bars: Vec<(Control, f64, f64)> = all
        .iter()
        .filter_map(|(record, summary)| Some((record.plan.control, summary.foreground_p50?, summary.foreground_p99?)))
        .collect();
    let limit = bars.iter().find(|(control, ..)| *control == Control::ByHand).map(|(_, _, p99)| p99 * 1.5);
    // Without a gate the machine is full, and its bar may be far longer than all others: it is cut.
    let gated = bars.iter().filter(|(control, ..)| *control != Control::Off || bars.len() == 1);
    let largest = gated.map(|(_, _, p99)| *p99).chain(limit).fold(0.0, f64::max);
    let panel = Panel::new(BARS, Scale::round(largest), Scale::linear(0.0, 1.0));
    drawing.text("heading", (BESIDE, BARS.top - 9.0), Anchor::Start, "Foreground selects: p50 and p99");
    panel.bottom_axis(drawing, 3, |value| format!("{value}"));
    drawing.text("tick", (BARS.left + BARS.width / 2.0, BARS.bottom() + 36.0), Anchor::Middle, "milliseconds");
    let row = BARS.height / bars.len().max(1) as f64;
    let thickness = (row * 0.55).min(22.0);
    if let Some(limit) = limit {
        panel.moment(drawing, "threshold", limit);
        let at = (panel.x.place(limit), BARS.bottom() - 3.0);
        drawing.text("threshold-text", (at.0 - 4.0, at.1), Anchor::End, "1.5 × by hand");
    }
    for (index, (control, p50, p99)) in bars.iter().enumerate() {
        let middle = BARS.top + (index as f64 + 0.5) * row;
        let (class, top) = (style::class(*control), middle - thickness / 2.0);
        drawing.text("tick", (BARS.left - 6.0, middle + 4.0), Anchor::End, control.name());
        drawing.rectangle(&format!("bar {class}"), (BARS.left, top), (panel.x.place(*p99) - BARS.left, thickness));
        drawing.rectangle(&format!("core {class}"), (BARS.left, top), (panel.x.place(*p50) - BARS.left, thickness));
        drawing.text("value", (panel.x.place(*p99) + 5.0, middle + 4.0), Anchor::Start, &format!("{p99:.1} ms"));
    }
}

/// `10 ms`, `1 s`, `0.5 s`, `100 s`.
fn short_seconds(value: f64) -> String {
    if value > 0.0 && value < 0.1 {
        format!("{:.0} ms", value * 1000.0)
    } else {
        format!("{} s", (value * 1e6).round() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn a_scale_that_fits() {
        let calm = render(&[record(Control::ByHand, 0.05, 0.95), record(Control::Paced, 0.4, 0.97)]);
        assert!(!calm.contains("logarithmic"));
        assert!(calm.contains("threshold 1 s") && calm.contains("1.5 × by hand"));
        let wild = render(&[record(Control::Off, 40.0, 10.0), record(Control::Paced, 0.4, 0.97)]);
        assert!(wild.contains("logarithmic") && wild.contains("no gate goes up to 4000"), "{wild}");
        assert!(!wild.contains("NaN") && !wild.contains("inf"));
        assert_eq!(render(&[]), "");
    }

    #[test]
    fn the_replica_s_steps() {
        let plan = super::super::plan::tests::plan(super::super::plan::Scenario::Drop, Control::Off);
        let steps = capacity(&plan, 400.0);
        assert_eq!(steps[1..5], [(30.0, 400.0), (30.0, 160.0), (60.0, 160.0), (60.0, 400.0)]);
    }

    #[test]
    fn labels() {
        for (value, text) in [(0.0, "0 s"), (0.01, "10 ms"), (0.1, "0.1 s"), (1.0, "1 s"), (0.3000000004, "0.3 s")] {
            assert_eq!(short_seconds(value), text);
        }
    }
}
