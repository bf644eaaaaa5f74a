//! TCP as Linux runs it, with every value filled.

use crate::format::{LinuxName, LinuxOptions};
use serde::Serialize;
use skyhop_base::Bytes;
use skyhop_tcp::control::ControlKind;

/// The TCP of Linux. Written out it is the table of a flow's `tcp` again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Linux {
    pub profile: LinuxName,
    pub control: ControlKind,
    /// In place of one that the kernel sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    #[serde(flatten)]
    pub options: LinuxOptions,
}
