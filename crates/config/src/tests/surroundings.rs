//! Secrets and files around proxy.yaml.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::plan;
use crate::load::Surroundings;
use crate::{ConfigError, Plan, check, load};

#[test]
fn a_secret_comes_from_where_it_says_and_never_shows() {
    let folder = tempfile::tempdir().unwrap();
    for (content, expected) in [
        ("hunter2\n", "hunter2"),
        ("hunter2\r\n", "hunter2"),
        ("hunter2", "hunter2"),
        ("hunter2\n\n", "hunter2\n"),
        ("", ""),
    ] {
        fs::write(folder.path().join("password"), content).unwrap();
        let text = "upstream: { address: 127.0.0.1 }\nprobe: { user: a, password: 'file:password' }";
        let plan = Plan::from_text(text, &folder.path().join("proxy.yaml")).unwrap();
        assert_eq!(plan.probe.unwrap().password.expose(), expected);
    }
    let text =
        |password: &str| format!("upstream: {{ address: 127.0.0.1 }}\nprobe: {{ user: a, password: '{password}' }}");
    assert_eq!(plan(&text("env:PASSWORD")).probe.unwrap().password.expose(), "from-env");
    let plain = plan(&text("hunter2"));
    assert!(!format!("{plain:?}").contains("hunter2"));
    assert_eq!(plain.probe.unwrap().password.expose(), "hunter2");
}

#[test]
fn a_secret_that_is_too_long_or_no_text_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (content, expected) in [(vec![b'x'; 5000], "longer than any password"), (vec![0xff, 0xfe], "not UTF-8")] {
        fs::write(folder.path().join("password"), content).unwrap();
        let text = "upstream: { address: 127.0.0.1 }\nprobe: { user: a, password: 'file:password' }";
        let error = Plan::from_text(text, &folder.path().join("proxy.yaml")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn relative_paths_start_at_the_folder_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.yaml");
    fs::create_dir(folder.path().join("pem")).unwrap();
    fs::write(folder.path().join("pem/ca.pem"), "").unwrap();
    let absolute = folder.path().join("pem/ca.pem");
    let text = format!(
        "listen: ./in.sock\nupstream: {{ address: ../up.sock, tls: verify_ca, ca: pem/ca.pem, replicas: [./r.sock] }}\ntls: {{ client_ca: '{}' }}",
        absolute.display()
    );
    fs::write(&file, text).unwrap();
    let plan = Plan::from_file(&file).unwrap();
    let at = |path: &str| folder.path().join(path).display().to_string();
    assert_eq!(plan.listen[0].address.to_string(), at("./in.sock"));
    assert_eq!(plan.upstream.address.to_string(), at("../up.sock"));
    assert_eq!(plan.upstream.replicas.listed()[0].to_string(), at("./r.sock"));
    assert_eq!(plan.upstream.ca, Some(absolute.clone()));
    assert_eq!(plan.tls.client_ca, Some(absolute));
}

#[test]
fn a_file_that_cannot_be_read_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = Plan::from_file(&folder.path().join("none.yaml")).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }));
    assert!(error.to_string().contains("none.yaml") && error.to_string().contains("--config"), "{error}");
    let large = folder.path().join("large.yaml");
    fs::write(&large, vec![b'#'; 2 << 20]).unwrap();
    assert!(Plan::from_file(&large).unwrap_err().to_string().contains("1 MiB"));
}

#[test]
fn check_reports_what_the_file_means() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.yaml");
    fs::write(
        &file,
        "listen: [127.0.0.1:6033, 127.0.0.1:6035]\nupstream: { address: db, replicas: [r1] }\nworkers: 2\nrules: [{ id: a, match: { user: x }, do: { hold: true }, permanent: true }]\n",
    )
    .unwrap();
    let report = check(&file).unwrap();
    let text = report.to_string();
    for expected in [
        "proxy.yaml: OK",
        "2 listeners on 127.0.0.1:6033, 127.0.0.1:6035",
        "upstream db:3306, 1 replica",
        "2 worker threads",
        "1 rule, no playbooks",
        "3 warnings",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert_eq!(report.warnings.len(), 3);
}

#[test]
fn a_plain_password_in_a_file_for_everyone_is_worth_a_word() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy.yaml");
    fs::write(&file, "upstream: { address: 127.0.0.1 }\nprobe: { user: a, password: plain }\n").unwrap();
    for (mode, expected) in [(0o600, 0), (0o640, 0), (0o644, 1)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(check(&file).unwrap().warnings.len(), expected, "{mode:o}");
    }
}

#[test]
fn the_environment_is_asked_only_for_what_the_file_names() {
    let asked = std::cell::RefCell::new(Vec::new());
    let text = "upstream: { address: 127.0.0.1 }\nprobe: { user: a, password: 'env:A_NAME' }";
    let environment = |name: &str| {
        asked.borrow_mut().push(name.to_owned());
        None
    };
    let around = Surroundings { environment: &environment, ..Surroundings::of_process() };
    load::load(text, Path::new("proxy.yaml"), &around).unwrap_err();
    assert_eq!(*asked.borrow(), ["A_NAME"]);
}
