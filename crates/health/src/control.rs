//! The laws by which gates let more or less through, a file each. A law sees the metric and says a [`Flow`](crate::Flow);
//! what is over the threshold is [`Gate`](crate::Gate)'s to say.

pub mod binary;
pub mod paced;
pub mod permits;

pub use binary::Binary;
pub use paced::Paced;
pub use permits::Permits;
