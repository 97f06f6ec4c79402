//! Other people's client libraries through the proxy: each program of `tests/drivers`, plain and over TLS, before MySQL and
//! before MariaDB. A program whose runtime is not installed says so and is passed over; `.ci/run` installs them all.

mod after_rejection;
mod corpora;
mod execute_retry;
mod steps;

mod mysql_async;
mod sqlx;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sandbox::{APP, Flavor, Server};

use crate::harness::{Tollgate, skipped, upstream};

/// What a program exits with when its runtime is missing.
const MISSING: i32 = 77;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tls {
    Off,
    On,
}

fn server(flavor: Flavor) -> &'static Server {
    match flavor {
        Flavor::Mysql => &sandbox::mysql_shared().expect("a MySQL").primary,
        Flavor::Mariadb => sandbox::mariadb_shared().expect("a MariaDB"),
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/drivers")
}

/// The environment that every program reads: see `tests/drivers/README.md`.
pub(crate) fn run_program(name: &str, address: std::net::SocketAddr, flavor: Flavor, tls: Tls) -> Command {
    let mut command = Command::new(folder().join(name).join("run"));
    let (flavor_name, tls_name) = match (flavor, tls) {
        (Flavor::Mysql, Tls::Off) => ("mysql", "off"),
        (Flavor::Mysql, Tls::On) => ("mysql", "on"),
        (Flavor::Mariadb, Tls::Off) => ("mariadb", "off"),
        (Flavor::Mariadb, Tls::On) => ("mariadb", "on"),
    };
    command
        .env("TG_HOST", address.ip().to_string())
        .env("TG_PORT", address.port().to_string())
        .env("TG_USER", APP.user)
        .env("TG_PASSWORD", APP.password)
        .env("TG_DATABASE", "test")
        .env("TG_TLS", tls_name)
        .env("TG_FLAVOR", flavor_name)
        .env("TG_TABLE", format!("d_{name}_{tls_name}"));
    command
}

/// Whether a program was there to run. One that did not do every step that is `required` of it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ran {
    Done,
    Missing,
}

pub(crate) fn judge(name: &str, output: &Output, required: &[&str]) -> Ran {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(MISSING) {
        skipped(&format!("driver {name}"), text.trim());
        return Ran::Missing;
    }
    assert!(output.status.success(), "driver {name}: {}\n{text}", output.status);
    assert!(text.lines().any(|line| line == "done"), "driver {name} did not finish:\n{text}");
    let done: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    let left_out: Vec<_> = required.iter().filter(|step| !done.contains(step)).collect();
    assert!(left_out.is_empty(), "driver {name} left out {left_out:?}:\n{text}");
    Ran::Done
}

/// A proxy that lets nobody in who connects in the other way: a driver may think that it uses TLS.
fn proxy(flavor: Flavor, tls: Tls) -> Tollgate {
    let mode = match tls {
        Tls::Off => "disabled",
        Tls::On => "required",
    };
    let listen = format!("listen: {{ address: \"127.0.0.1:0\", tls: {mode} }}\n");
    Tollgate::start(&format!("{listen}{}", upstream(server(flavor))))
}

fn through_the_proxy(name: &str) {
    for flavor in [Flavor::Mysql, Flavor::Mariadb] {
        for tls in [Tls::Off, Tls::On] {
            let tollgate = proxy(flavor, tls);
            let output = run_program(name, tollgate.address, flavor, tls).output().expect("the driver's program");
            let required = steps::required(name, flavor, tls);
            if judge(name, &output, &required) == Ran::Missing {
                return;
            }
            // One may have nothing to do before a server of the other kind.
            assert!(required.is_empty() || tollgate.counter("logins_succeeded") > 0, "{name} went around the proxy");
            assert_eq!(tollgate.counter("upstream_malformed"), 0, "{name}: a reply could not be followed");
            assert_eq!(tollgate.counter("client_malformed"), 0, "{name}: a command could not be read");
        }
    }
}

/// One test a program, so that they run side by side and are named when they fail.
macro_rules! drivers {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                through_the_proxy(stringify!($name));
            }
        )*

        const TESTED: &[&str] = &[$(stringify!($name),)*];
    };
}

drivers! {
    mysql mysqldump mysqlbinlog mysqlslap
    c_libmariadb c_libmysqlclient connector_python connector_python_c go java_mariadb mysqlclient node_mysql2 perl_dbd_mariadb
    perl_dbd_mysql php_mysqli php_pdo pymysql ruby_mysql2
}

/// A program that is added to the folder must be added here.
#[test]
fn every_program_is_tested() {
    let programs = std::fs::read_dir(folder()).expect("tests/drivers");
    let mut found: Vec<_> = programs
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("run").exists())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    let mut tested: Vec<_> = TESTED.to_vec();
    tested.sort_unstable();
    assert_eq!(found, tested);
    assert_eq!(corpora::DRIVERS, TESTED);
}
