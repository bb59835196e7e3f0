//! stub
use super::output::Output;
use crate::error::Error;
/// v
#[derive(clap::Args)]
pub struct Validate {
    /// j
    #[arg(long)]
    pub json: bool,
}
impl Validate {
    pub fn run(self, _o: &mut Output) -> Result<u8, Error> {
        Ok(0)
    }
}
