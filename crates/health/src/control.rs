//! The laws by which gates let more or less through, a file each. A law sees the metric and says a [`Flow`](crate::Flow);
//! what is over the threshold is [`Gate`](crate::Gate)'s to say.

pub mod binary;
pub mod paced;
pub mod paced_at_once;
pub mod permits;

pub use binary::Binary;
pub use paced::Paced;
pub use paced_at_once::PacedAtOnce;
pub use permits::Permits;
