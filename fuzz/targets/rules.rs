//! Rules, a client and a statement made from the bytes: the index and the slow, obvious matcher of the crate's tests say the
//! same, a claim makes nothing easier, and every explanation agrees.
#![no_main]

use arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use rules::{Mode, Timestamp};

#[path = "../../crates/rules/tests/property/check.rs"]
mod check;
#[path = "../../crates/rules/tests/property/oracle.rs"]
mod oracle;
#[path = "../../crates/rules/tests/property/subjects.rs"]
mod subjects;

use subjects::{Dice, NOW};

fuzz_target!(|bytes: &[u8]| {
    let mut dice = Bytes(Unstructured::new(bytes));
    let rules = subjects::rules(&mut dice, 24);
    let (trusted, all) = subjects::identities(&mut dice);
    let asked = subjects::asked(&mut dice);
    let now = Timestamp(NOW.0 + dice.pick(&[-1, 0, 1, 60_000, 40_000_000, -300_000_000]));
    let mode = dice.pick(&[Mode::Enforce, Mode::Warn, Mode::Off]);
    check::check(&rules, [&trusted, &all], &asked, now, mode, &mut check::Seen::default());
});

/// Every choice is a byte; when there are no more, the first.
struct Bytes<'a>(Unstructured<'a>);

impl Dice for Bytes<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.0.int_in_range(0..=limit - 1).unwrap_or(0)
    }
}
