//! placeholder
pub(crate) fn run(_arguments: &[String]) -> crate::Result<()> {
    Ok(())
}
