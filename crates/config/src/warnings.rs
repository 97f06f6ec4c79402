//! What is allowed, and yet worth a word.

mod rules;

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;

use ::rules::{Key, Rule, Share, Timestamp, UnknownTables};

use crate::gate::Gate;
use crate::plan::{ClientTls, ListenAddress, Plan, UpstreamTls};
use crate::policy::Defaults;
use crate::tree::{At, KeyPath, Trouble};
use crate::value::shown_duration;

/// Who may read proxy.yaml.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    Everyone,
    Limited,
    /// It is a text without a file.
    Unknown,
}

impl Exposure {
    pub(crate) fn of(file: &Metadata) -> Self {
        if file.permissions().mode() & 0o004 == 0 { Exposure::Limited } else { Exposure::Everyone }
    }
}

pub(crate) fn warnings(plan: &Plan, exposure: Exposure, now: Timestamp) -> Vec<Trouble> {
    let mut found = Vec::new();
    listeners(plan, &mut found);
    upstream(plan, &mut found);
    limits(plan, &mut found);
    probe(plan, exposure, &mut found);
    rules::find(plan, now, &mut found);
    delays(plan, &mut found);
    unknown_tables(plan, &mut found);
    if let Some(http) = plan.admin.http.filter(|http| !http.ip().is_loopback()) {
        let what = format!("{http} is reached from other machines, and asks nobody who they are");
        found.push(warning("admin.http", what, "let only your monitoring reach it, or write `127.0.0.1:6034`"));
    }
    found
}

fn warning(keys: &str, what: impl Into<String>, remedy: impl Into<String>) -> Trouble {
    Trouble::new(KeyPath::of(keys), At::Value, what, remedy)
}

fn listeners(plan: &Plan, found: &mut Vec<Trouble>) {
    for listener in &plan.listen {
        if !listener.address.is_local() && listener.tls == ClientTls::Disabled {
            let what = format!("{} is reached from other machines without TLS", listener.address);
            found.push(warning("listen", what, "write `tls: optional` or `tls: required` for it"));
        }
        if let Some(network) = listener.proxy_protocol_from.iter().find(|network| network.prefix_len() == 0) {
            let what = format!("{network} is everyone: any client may claim any address");
            found.push(warning("listen", what, "list only the load balancers that send the PROXY protocol"));
        }
    }
    let certificate = plan.tls.certificate.is_some() || plan.tls.client_ca.is_some();
    if certificate && plan.listen.iter().all(|listener| listener.tls == ClientTls::Disabled) {
        let what = "no listener uses this: they all have `tls: disabled`";
        found.push(Trouble::new(KeyPath::of("tls"), At::Key, what, "write `tls: optional` for one, or take `tls` out"));
    }
}

/// Without a user to read the catalogue as, every name is unknown.
fn unknown_tables(plan: &Plan, found: &mut Vec<Trouble>) {
    if plan.probe.is_some() {
        return;
    }
    let favours = |rule: &Rule| matches!(rule.effect.share, Some(Share::Exempt)) || rule.effect.skip_gates.is_some();
    let by_table = |rule: &Rule| rule.matching.conditions.iter().any(|condition| condition.key == Key::Table);
    let never = |rule: &Rule| rule.unknown_tables == UnknownTables::Ignore && favours(rule) && by_table(rule);
    for (index, _) in plan.policy.rules.iter().enumerate().filter(|(_, rule)| never(rule)) {
        let what = "without a probe user all tables are unknown and may be views, so this exemption never applies";
        let place = KeyPath::of("rules").item(index).key("match").key("table");
        found.push(Trouble::new(
            place,
            At::Value,
            what,
            "add `probe:`, or write `unknown_tables: match` to take names as they are",
        ));
    }
    let matches = |rule: &Rule| rule.unknown_tables == UnknownTables::Match && !favours(rule);
    for (index, _) in plan.policy.rules.iter().enumerate().filter(|(_, rule)| matches(rule)) {
        let what = "without a probe user all tables are unknown, so the rule concerns whatever names a table";
        let place = KeyPath::of("rules").item(index).key("unknown_tables");
        found.push(Trouble::new(place, At::Value, what, "add `probe:`, or write `unknown_tables: ignore`"));
    }
}

/// A part of `max_delay` that is longer than the whole.
fn delays(plan: &Plan, found: &mut Vec<Trouble>) {
    let (policy, defaults) = (&plan.policy, &plan.policy.defaults);
    let own = (KeyPath::of("defaults"), defaults.max_delay, Some(defaults.max_delay_after_reads));
    let of_gate = |gate: &Gate| {
        let place = KeyPath::of("gates").key(&gate.settings.name);
        (place, gate.max_delay.unwrap_or(defaults.max_delay), gate.max_delay_after_reads)
    };
    for (place, most, after_reads) in [own].into_iter().chain(policy.gates.iter().map(of_gate)) {
        let Some(after_reads) = after_reads.filter(|after_reads| *after_reads > most) else { continue };
        // The usual second is nobody's wish.
        if after_reads == Defaults::default().max_delay_after_reads {
            continue;
        }
        let what = format!("nothing is held for longer than `max_delay`, which is `{}` here", shown_duration(most));
        let remedy = format!("write `max_delay: {}` beside it, or less here", shown_duration(after_reads));
        found.push(Trouble::new(place.key("max_delay_after_reads"), At::Value, what, remedy));
    }
}

fn upstream(plan: &Plan, found: &mut Vec<Trouble>) {
    let upstream = &plan.upstream;
    if !upstream.address.is_local() {
        let what = match upstream.tls {
            UpstreamTls::Disabled => Some("what goes to the upstream, logins too, is not encrypted"),
            UpstreamTls::Preferred => {
                Some("the server is not verified, and without TLS on its side all goes over in plain text")
            }
            UpstreamTls::Required => Some("the connection is encrypted, but nobody verifies that this is the server"),
            UpstreamTls::VerifyCa | UpstreamTls::VerifyIdentity => None,
        };
        let remedy = "write `tls: verify_ca` or `tls: verify_identity`, with `ca`";
        found.extend(what.map(|what| warning("upstream.tls", what, remedy)));
    }
    if !upstream.replicas.are_none() && plan.probe.is_none() {
        let what = "nobody measures the replicas: there is no probe user";
        found.push(warning("upstream.replicas", what, "add `probe:`, or take them out"));
    }
}

fn limits(plan: &Plan, found: &mut Vec<Trouble>) {
    let limits = &plan.limits;
    let of_their_own = [
        ("limits.per_user", limits.per_user),
        ("limits.per_address", limits.per_address),
        ("limits.unauthenticated", Some(limits.unauthenticated)),
        ("limits.upstream_logins", Some(limits.upstream_logins)),
    ];
    for (key, limit) in of_their_own {
        if limit.is_some_and(|limit| limit > limits.connections) {
            let what = format!("never reached: `limits.connections` is {}", limits.connections);
            found.push(warning(key, what, "write a smaller number, or take it out"));
        }
    }
    if limits.unauthenticated_per_address.is_some_and(|limit| limit > limits.unauthenticated) {
        let what = format!("never reached: `limits.unauthenticated` is {}", limits.unauthenticated);
        found.push(warning("limits.unauthenticated_per_address", what, "write a smaller number, or take it out"));
    }
}

fn probe(plan: &Plan, exposure: Exposure, found: &mut Vec<Trouble>) {
    match &plan.probe {
        None => {
            let what = "without a probe user, a statement whose client has left runs on upstream to its end";
            found.push(warning(
                "probe",
                what,
                "add `probe: { user: tollgate, password: \"env:TOLLGATE_PROBE_PASSWORD\" }`",
            ));
        }
        Some(probe) if probe.password.is_plain() && exposure == Exposure::Everyone => {
            let what = "the password stands in a file that every user of this machine can read";
            let remedy = "use `env:NAME` or `file:path`, or `chmod o-r` this file";
            found.push(warning("probe.password", what, remedy));
        }
        Some(_) => {}
    }
    let socket_only = plan.listen.iter().all(|listener| matches!(listener.address, ListenAddress::Socket(_)));
    if socket_only && plan.limits.per_address.is_some() {
        let what = "never reached: all listeners are sockets, whose clients have no address";
        found.push(warning("limits.per_address", what, "take it out"));
    }
}
