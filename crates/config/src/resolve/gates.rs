//! Gates: what goes together, and what must be there for a metric to be measured at all.

mod subject;

use health::{Control, Scope, Settings};
use rules::Match;
use statement::Class;

use super::{Resolver, Surrounding};
use crate::closest::closest;
use crate::gate::{Gate, KnownGate, MOST_GATES, Metric};
use crate::raw::{Concerned, RawGate};
use crate::rule::resolve_matching;
use crate::tree::{At, KeyPath, Node, read_at};
use crate::value::{Id, shown_duration};
use subject::Subject;

/// The gates, and what rules may say of them: also of those that are not in order.
pub(super) struct Gates {
    pub(super) gates: Vec<Gate>,
    pub(super) known: Vec<KnownGate>,
}

impl Resolver<'_> {
    pub(super) fn gates(&mut self, node: Option<&Node>, metrics: &[Metric], around: &Surrounding) -> Gates {
        let place = KeyPath::of("gates");
        let remedy = "write names and the keys of each, such as `replication_lag: { threshold: 5s }`";
        let entries = self.entries(node, &place, "gates", remedy);
        if let Some((name, _)) = entries.get(MOST_GATES) {
            let what = format!("there are {} gates, and {MOST_GATES} is the most", entries.len());
            self.refuse_at(place.key(name), At::Key, what, "take some out, or put their users into one `match`");
        }
        let mut all = Gates { gates: Vec::new(), known: Vec::new() };
        for (name, node) in entries {
            let gate = self.one_gate(name, node, &place.key(name), metrics, around);
            let unit = gate.as_ref().map(|gate| gate.settings.unit);
            let only_logins = gate.as_ref().is_some_and(|gate| gate.classes.is_empty());
            all.known.push(KnownGate { name: name.clone(), unit, only_logins });
            all.gates.extend(gate);
        }
        all
    }

    fn one_gate(
        &mut self,
        name: &str,
        node: &Node,
        place: &KeyPath,
        metrics: &[Metric],
        around: &Surrounding,
    ) -> Option<Gate> {
        if let Err(complaint) = Id::parse(name) {
            self.refuse_at(place.clone(), At::Key, complaint.what, complaint.remedy);
        }
        let mut found = Vec::new();
        let raw: Option<RawGate> = read_at(node, place, &mut found);
        let whole = found.is_empty();
        self.troubles.extend(found);
        let raw = raw.filter(|_| whole)?;
        let subject = self.subject(name, &raw, place, metrics)?;
        self.check_measurable(&subject, place, around);
        self.gate(name, raw, &subject, place)
    }

    /// What it is on: the metric that it names, or that it is called after.
    fn subject<'m>(
        &mut self,
        name: &str,
        raw: &RawGate,
        place: &KeyPath,
        metrics: &'m [Metric],
    ) -> Option<Subject<'m>> {
        let metric = raw.metric.as_ref().map_or(name, |metric| &metric.0);
        if let Some(subject) = Subject::named(metric, metrics) {
            return Some(subject);
        }
        // One that is there and not in order has its own words.
        if self.troubles.iter().any(|trouble| trouble.path().section() == KeyPath::of("metrics").key(metric).section())
        {
            return None;
        }
        let names = Subject::names(metrics);
        let (place, at) = match &raw.metric {
            Some(_) => (place.key("metric"), At::Value),
            None => (place.clone(), At::Key),
        };
        let remedy = match closest(metric, &names) {
            Some(near) if raw.metric.is_none() => format!("did you mean `{near}`? Else add `metric:`"),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}; others go under `metrics:`", names.join(", ")),
        };
        self.refuse_at(place, at, format!("there is no metric called `{metric}`"), remedy);
        None
    }

    fn gate(&mut self, name: &str, raw: RawGate, subject: &Subject<'_>, place: &KeyPath) -> Option<Gate> {
        let unit = subject.unit();
        let (classes, logins) = self.classes(&raw, subject, place);
        let control = self.control(&raw, subject, place);
        let scope = self.scope(&raw, subject, place);
        let matching = self.gate_matching(raw.matching, &classes, place);
        let threshold = match raw.threshold.map(|measure| measure.of(unit)) {
            Some(Ok(threshold)) => threshold,
            Some(Err(complaint)) => {
                self.refuse_at(place.key("threshold"), At::Value, complaint.what, complaint.remedy);
                return None;
            }
            None => {
                let remedy = format!("add `threshold: {}`, or what suits you", subject.example());
                self.refuse_at(place.key("threshold"), At::Key, "the gate's threshold is missing", remedy);
                return None;
            }
        };
        if let (Some(_), Some(metric)) = (&raw.interval, subject.custom()) {
            let what = format!("how often `{}` is asked for is said there", metric.name);
            self.refuse_at(place.key("interval"), At::Key, what, format!("write it under `metrics.{}`", metric.name));
        }
        let interval = raw.interval.map_or_else(|| subject.usual_interval(threshold), |span| span.0);
        // A value must last until the next one can have come, and one may be lost.
        let least = interval.saturating_mul(2);
        let stale_after = raw.stale_after.map_or(Settings::STALE_AFTER.max(least), |span| span.0);
        if stale_after < least {
            let what = format!("there is a value every `{}`: it would be stale in between", shown_duration(interval));
            let remedy = format!("write at least `{}`", shown_duration(least));
            self.refuse_at(place.key("stale_after"), At::Value, what, remedy);
        }
        let settings = Settings {
            name: name.into(),
            metric: subject.name().into(),
            unit,
            threshold,
            scope,
            control,
            on_stale: raw.on_stale.map(|word| word.0).unwrap_or_default(),
            stale_after,
            max_closed: raw.max_closed.map_or(Some(Settings::MAX_CLOSED), |most| most.0),
            trickle: raw.trickle.map_or(Settings::TRICKLE, |trickle| trickle.0),
            interval,
        };
        Some(Gate {
            settings,
            mode: raw.mode.map(|word| word.0),
            classes,
            logins,
            matching,
            action: raw.action.map(|word| word.0),
            max_delay: raw.max_delay.map(|span| span.0),
            max_delay_after_reads: raw.max_delay_after_reads.map(|span| span.0),
        })
    }

    /// The statements that it concerns, from mild to strict, and whether it concerns logins.
    fn classes(&mut self, raw: &RawGate, subject: &Subject<'_>, place: &KeyPath) -> (Vec<Class>, bool) {
        let Some(written) = &raw.classes else { return subject.usual_classes() };
        let place = place.key("classes");
        if written.0.is_empty() {
            let what = "the list is empty: the gate would concern nothing";
            self.refuse_at(place, At::Value, what, "write at least one class, such as `[write]`, or take the key out");
            return subject.usual_classes();
        }
        let concerns = |wanted: Concerned| written.0.iter().any(|word| word.0 == wanted);
        if subject.is_on_logins() {
            if let Some(index) = written.0.iter().position(|word| word.0 != Concerned::Login) {
                let what = format!("`{}` is for new logins, never queries: those add no connection", subject.name());
                self.refuse_at(place.item(index), At::Value, what, "take it out");
            }
            return subject.usual_classes();
        }
        let classes = subject::STATEMENTS.into_iter().filter(|class| concerns(Concerned::Statement(*class))).collect();
        (classes, concerns(Concerned::Login))
    }

    fn control(&mut self, raw: &RawGate, subject: &Subject<'_>, place: &KeyPath) -> Control {
        let usual = subject.usual_control();
        let Some(control) = raw.control.map(|word| word.0) else { return usual };
        let place = place.key("control");
        match control {
            Control::Paced if !subject.is_lag() => {
                let what = format!("`{}` has no backlog to pace by: only `replication_lag` has", subject.name());
                self.refuse_at(place, At::Value, what, "write `permits` or `binary`");
            }
            Control::Permits if subject.is_on_logins() => {
                let what = "a login is let in or not: it gives nothing back by ending";
                self.refuse_at(place, At::Value, what, "write `binary`, or take it out");
            }
            Control::Paced | Control::Permits | Control::Binary => {}
        }
        control
    }

    fn scope(&mut self, raw: &RawGate, subject: &Subject<'_>, place: &KeyPath) -> Scope {
        let written = [("scope", raw.scope.is_some()), ("ignore_worst", raw.ignore_worst.is_some())];
        for (key, _) in written.into_iter().filter(|(_, written)| *written && !subject.is_of_several()) {
            let what = format!("`{}` is measured in one place: there is nothing to choose from", subject.name());
            self.refuse_at(place.key(key), At::Key, what, "take it out");
        }
        Scope {
            over: raw.scope.map(|word| word.0).unwrap_or_default(),
            ignore_worst: raw.ignore_worst.map_or(0, |count| count.0),
        }
    }

    fn gate_matching(
        &mut self,
        raw: Option<crate::rule::RawMatch>,
        classes: &[Class],
        place: &KeyPath,
    ) -> Option<Match> {
        let place = place.key("match");
        let (matching, troubles) = resolve_matching(raw?, &place, "the gate");
        self.troubles.extend(troubles);
        let matching = matching?;
        if classes.is_empty() {
            let both = [(place.clone(), &matching.conditions), (place.key("not"), &matching.not)];
            for (place, conditions) in both {
                for key in conditions.iter().map(|condition| &condition.key).filter(|key| !key.is_of_connection()) {
                    let what = format!("the gate is on logins, when `{key}` is not known yet");
                    self.refuse_at(place.key(&key.to_string()), At::Key, what, format!("take `{key}` out"));
                }
            }
        }
        Some(matching)
    }

    fn check_measurable(&mut self, subject: &Subject<'_>, place: &KeyPath, around: &Surrounding) {
        if subject.asks_server() {
            self.refuse_without_probe(place, around);
        }
        if subject.is_lag() {
            self.refuse_without_replicas(place, around);
        }
        if subject.is_of_host() && around.remote && !self.is_read_in_part("upstream") {
            let what = "the database is on another machine, whose load nobody here knows";
            let remedy =
                "give it as a metric of your own: `metrics: { db_load: { http: \"http://…\" } }`, and a gate on that";
            self.refuse_at(place.clone(), At::Key, what, remedy);
        }
    }

    pub(super) fn refuse_without_probe(&mut self, place: &KeyPath, around: &Surrounding) {
        if !around.probe && !self.is_read_in_part("probe") {
            let what = "to measure this the servers must be asked, and there is no user for that";
            let remedy = "add `probe: { user: tollgate, password: \"env:TOLLGATE_PROBE_PASSWORD\" }`";
            self.refuse_at(place.clone(), At::Key, what, remedy);
        }
    }

    pub(super) fn refuse_without_replicas(&mut self, place: &KeyPath, around: &Surrounding) {
        if !around.replicas && !self.is_read_in_part("upstream") {
            let what = "there are no replicas whom it could be measured on";
            let remedy = "list them, as in `upstream: { replicas: [127.0.0.1:3307] }`, or write `replicas: discover`";
            self.refuse_at(place.clone(), At::Key, what, remedy);
        }
    }
}
