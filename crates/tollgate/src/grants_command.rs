//! `tollgate grants`: the statements that make the proxy's own user, as the file needs it.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use config::{MetricQuestion, Plan};
use probes::{Flavor, Grants, Heartbeat, MissingTable};

use crate::print::show;

/// Whether the password of the file is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Password {
    LeftOut,
    Printed,
}

pub(crate) fn run(config: &Path, flavor: Flavor, host: &str, password: Password) -> anyhow::Result<ExitCode> {
    let plan = match password {
        Password::LeftOut => Plan::from_file_alone(config)?,
        Password::Printed => Plan::from_file(config)?,
    };
    show(&statements(&plan, flavor, host, password).with_context(|| format!("in {}", config.display()))?);
    Ok(ExitCode::SUCCESS)
}

/// To be piped into `mysql`, once the password is in.
fn statements(plan: &Plan, flavor: Flavor, host: &str, password: Password) -> anyhow::Result<String> {
    let probe = plan.probe.as_ref().context(
        "there is no `probe`, so there is no user to make; add `probe: { user: tollgate, password: \
         \"env:TOLLGATE_PROBE_PASSWORD\" }`",
    )?;
    let heartbeat = probe.heartbeat.as_ref().map(|heartbeat| Heartbeat {
        schema: heartbeat.table.schema.clone(),
        table: heartbeat.table.name.clone(),
        proxy: String::new(),
        missing: if heartbeat.create { MissingTable::Create } else { MissingTable::SayHow },
    });
    let discover = plan.upstream.replicas == config::Replicas::Discover;
    let mut sql = format!("-- For {flavor}: run it on the primary; the replicas get it by replication.\n");
    if let Some(heartbeat) = heartbeat.as_ref().filter(|heartbeat| heartbeat.missing == MissingTable::SayHow) {
        for statement in probes::heartbeat_statements(heartbeat) {
            let _ = writeln!(sql, "{statement}; -- the heartbeat");
        }
    }
    let password = (password == Password::Printed).then(|| probe.password.expose());
    let wanted = Grants { user: &probe.user, host, password, heartbeat: heartbeat.as_ref(), discover };
    sql.push_str(&probes::grants(flavor, &wanted));
    for metric in &plan.policy.metrics {
        if let MetricQuestion::Sql { sql: asked, .. } = &metric.ask {
            // A line of its own, whatever is in it.
            let asked: String = asked.split_whitespace().collect::<Vec<_>>().join(" ");
            let _ = writeln!(sql, "-- metrics.{} reads for itself; grant it what this needs: {asked}", metric.name);
        }
    }
    Ok(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(yaml: &str, flavor: Flavor) -> anyhow::Result<String> {
        let plan = Plan::from_text(yaml, Path::new("proxy.yaml")).unwrap_or_else(|error| panic!("{error}"));
        statements(&plan, flavor, "10.0.0.%", Password::LeftOut)
    }

    #[test]
    fn the_password_is_printed_on_request() {
        let yaml = "upstream: { address: db }\nprobe: { user: watcher, password: hunter2 }\n";
        let plan = Plan::from_text(yaml, Path::new("proxy.yaml")).unwrap();
        let sql = statements(&plan, Flavor::Mysql, "%", Password::Printed).unwrap();
        assert!(sql.contains("ALTER USER 'watcher'@'%' IDENTIFIED BY 'hunter2'; -- "), "{sql}");
    }

    #[test]
    fn what_the_file_needs_and_no_password() {
        let upstream = "upstream: { address: db, replicas: discover }\n";
        let yaml = format!(
            "{upstream}probe: {{ user: watcher, password: hunter2, heartbeat: ours.beats }}\n\
             metrics: {{ level: {{ sql: \"SELECT v\\nFROM x.y\" }} }}\n"
        );
        for (flavor, discovers) in [(Flavor::Mysql, "REPLICATION SLAVE"), (Flavor::Mariadb, "REPLICATION MASTER ADMIN")]
        {
            let sql = printed(&yaml, flavor).unwrap();
            for part in [
                "CREATE DATABASE IF NOT EXISTS `ours`; -- ",
                "CREATE TABLE IF NOT EXISTS `ours`.`beats`",
                "CREATE USER IF NOT EXISTS 'watcher'@'10.0.0.%' IDENTIFIED BY <password>; -- ",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON `ours`.`beats` TO 'watcher'@'10.0.0.%'; -- ",
                discovers,
                "-- metrics.level reads for itself; grant it what this needs: SELECT v FROM x.y\n",
            ] {
                assert!(sql.contains(part), "no {part:?} in\n{sql}");
            }
            assert!(!sql.contains("hunter2") && !sql.contains("GRANT CREATE"), "{sql}");
        }
        let creates = yaml.replace("ours.beats", "{ table: ours.beats, create: true }");
        let sql = printed(&creates, Flavor::Mysql).unwrap();
        assert!(sql.contains("GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON `ours`.`beats`"), "{sql}");
        assert!(sql.contains("CREATE DATABASE IF NOT EXISTS `ours`; -- ") && !sql.contains("CREATE TABLE"), "{sql}");
        let without = printed("upstream: { address: db }\n", Flavor::Mysql).unwrap_err();
        assert!(without.to_string().contains("add `probe:"), "{without}");
    }
}
