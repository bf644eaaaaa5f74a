//! Senders that take a random time before they send what their window releases.

use crate::simulation::Simulation;

impl Simulation {
    /// Sends what leaves at once. Whether the rest may leave now: its time is over or was set by the pacer; else its
    /// time begins.
    #[cold]
    pub(crate) fn jitter_lets_send(&mut self, flow_id: u32) -> bool {
        let now = self.now;
        loop {
            let Some(tcp) = self.flows[flow_id as usize].ends.tcp_mut() else { return true };
            let Some(segment) = tcp.sender.poll_urgent(now) else { break };
            self.send_segment(flow_id, &segment);
        }
        let flow = &mut self.flows[flow_id as usize];
        let (Some(tcp), Some(jitter)) = (flow.ends.tcp_mut(), &mut flow.jitter) else { return true };
        if jitter.is_over(now) {
            tcp.sender.release();
            return true;
        }
        if tcp.sender.is_paced_now() {
            return true;
        }
        if jitter.due.is_none() && tcp.sender.has_released(now) {
            jitter.begin(now);
        }
        false
    }
}
