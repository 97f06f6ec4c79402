/// The process answers; that is all it says.
pub(crate) async fn live() -> &'static str {
    "live\n"
}
