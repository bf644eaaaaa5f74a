//! The transport of a flow or a workload.

use super::linux::Linux;
use super::quic::Quic;
use serde::Serialize;
use skyhop_base::Bytes;
use skyhop_transport::TcpConfig;

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Tcp(Box<TcpConfig>),
    /// Under the same key: its table says so.
    #[serde(rename = "tcp")]
    Linux(Box<Linux>),
    Udp {
        header: Bytes,
    },
    Quic(Box<Quic>),
}
