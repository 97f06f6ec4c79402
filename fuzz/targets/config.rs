//! Any text as a configuration: a plan or an error with a place in the text, never a panic.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // Secrets and certificates are read from the files that it names; none is named by accident below this.
    if let Err(error) = config::Plan::from_text(text, Path::new("nowhere/proxy.yaml")) {
        assert!(!error.to_string().is_empty());
    }
});
