use super::Matcher;
use crate::samples::{asked, client, matching_of};
