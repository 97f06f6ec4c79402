//! Which keys take effect only on restart.

use crate::plan::Plan;

macro_rules! keys {
    ($($key:literal $($field:ident).+;)*) => {
        /// The keys, in the order of the documentation, whose new value waits for a restart.
        pub(super) fn waiting(running: &Plan, new: &Plan) -> Vec<String> {
            let mut keys = Vec::new();
            $(if running.$($field).+ != new.$($field).+ {
                keys.push($key.to_owned());
            })*
            keys
        }

        #[cfg(test)]
        const KEYS: &[&str] = &[$($key),*];
    };
}

// What is not here is in the policy, and takes effect at once. A test compares this with the documentation.
keys! {
    "listen" listen;
    "upstream.address" upstream.address;
    "upstream.tls" upstream.tls;
    "upstream.ca" upstream.ca;
    "upstream.certificate" upstream.certificate;
    "upstream.server_name" upstream.server_name;
    "upstream.proxy_protocol" upstream.proxy_protocol;
    "upstream.source_address" upstream.source_address;
    "upstream.dial_timeout" upstream.dial_timeout;
    "upstream.replicas" upstream.replicas;
    "upstream.on_demotion" upstream.on_demotion;
    "tls.certificate" tls.certificate;
    "tls.client_ca" tls.client_ca;
    "limits.connections" limits.connections;
    "limits.per_user" limits.per_user;
    "limits.per_address" limits.per_address;
    "limits.unauthenticated" limits.unauthenticated;
    "limits.unauthenticated_per_address" limits.unauthenticated_per_address;
    "limits.login_time" limits.login_time;
    "limits.login_size" limits.login_size;
    "limits.upstream_logins" limits.upstream_logins;
    "limits.inspect" limits.inspect;
    "probe" probe;
    "drain.wait" drain.wait;
    "drain.deadline" drain.deadline;
    "workers" workers;
    "admin.http" admin.http;
    "admin.host_names" admin.host_names;
    "log.format" log.format;
    "log.level" log.level;
    "state_dir" state_dir;
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::KEYS;

    /// The `key` of a certificate is compared with it, a probe and a listener each as a whole.
    #[test]
    fn the_page_says_the_same() {
        let page = include_str!("../../../../docs/configuration.md");
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let documented: BTreeSet<&str> = rows
            .filter(|row| row.ends_with("on restart |"))
            .filter_map(|row| row.strip_prefix("| `")?.split_once('`').map(|(key, _)| key))
            .map(|key| match key {
                "upstream.key" => "upstream.certificate",
                "tls.key" => "tls.certificate",
                _ if key.starts_with("listen[]") => "listen",
                _ if key.starts_with("probe.") => "probe",
                key => key,
            })
            .collect();
        assert_eq!(documented, KEYS.iter().copied().collect());
    }
}
