//! Visits of web pages on the network: requests, answers, and what a page finds while it loads.
//!
//! A visit has its connections to one server. The user's side asks with a packet for each object; the server opens the
//! connection when the first request reaches it, so that the first byte of a new connection takes two round trips, as
//! with a handshake and a request. The server answers the requests of a connection in the order of their arrival. Where
//! each answer is a stream of its own (QUIC), it answers them side by side, and the stack decides whose data leave
//! first.
//! Deviations: no name is looked up, no TLS is negotiated over TCP, and parsing and scripts take no time.

use crate::pages::Page;
use crate::records::PageRow;
use crate::simulation::Simulation;
use crate::visit::{Answer, Request, retry_gap};
use skyhop_base::Duration;
use skyhop_transport::Supply;

impl Simulation {
    /// Something is due at a connection of a visit: its next page, or another try of a request.
    pub(crate) fn browse(&mut self, flow_id: u32, (visit, place): (usize, usize)) {
        let now = self.now;
        let state = &mut self.visits[visit];
        if place == 0 && state.next_view.is_some_and(|at| at <= now) {
            self.begin_page(visit);
        }
        let state = &mut self.visits[visit];
        let request_bytes = state.config.request_bytes;
        let connection = &mut state.connections[place];
        if connection.retry_at.is_some_and(|at| at <= now) {
            connection.retries += 1;
            connection.retry_at = Some(now + retry_gap(connection.retries));
            let lost = connection.requests.iter().filter(|request| !request.is_known);
            for number in lost.map(|request| request.number).collect::<Vec<_>>() {
                self.send_request(flow_id, number, request_bytes);
            }
        }
        self.arm_visit(visit, place);
    }

    fn begin_page(&mut self, visit: usize) {
        let now = self.now;
        let state = &mut self.visits[visit];
        state.next_view = None;
        let page = Page::draw(&state.config, &mut state.pages);
        let row = self.recorder.page(PageRow {
            begin: now,
            workload: state.workload,
            visit: state.number,
            view: state.views,
            from: state.ends.0.as_u32(),
            to: state.ends.1.as_u32(),
            objects: page.objects.len() as u32,
            bytes: page.bytes(),
            first: None,
            loaded: None,
        });
        state.views += 1;
        state.page = Some((page, row));
        state.has_begun = false;
        state.waiting.push_back(0);
        self.ask_for_objects(visit);
    }

    /// Requests for all objects that are found, as far as connections take them.
    fn ask_for_objects(&mut self, visit: usize) {
        let now = self.now;
        loop {
            let state = &mut self.visits[visit];
            let Some(place) = state.free() else { return };
            let Some(object) = state.waiting.pop_front() else { return };
            let (flow_id, request_bytes) = (state.first_flow + place as u32, state.config.request_bytes);
            let connection = &mut state.connections[place];
            let number = connection.next_number;
            connection.next_number += 1;
            connection.requests.push(Request { number, object, is_known: false });
            if connection.retry_at.is_none() {
                connection.retries = 0;
                connection.retry_at = Some(now + retry_gap(0));
            }
            self.send_request(flow_id, number, request_bytes);
            self.arm_visit(visit, place);
        }
    }

    /// A request of a visit is at its server.
    pub(crate) fn answer_visit(&mut self, flow_id: u32, number: u32, (visit, place): (usize, usize)) {
        let now = self.now;
        let state = &mut self.visits[visit];
        let Some((page, _)) = &state.page else { return };
        let connection = &mut state.connections[place];
        let fresh = connection.requests.iter_mut().find(|request| request.number == number && !request.is_known);
        let Some(request) = fresh else { return };
        request.is_known = true;
        let (object, bytes) = (request.object, page.objects[request.object as usize].bytes);
        connection.answers.push_back(Answer { object, write: connection.writes, bytes, before: connection.written });
        connection.written += bytes;
        connection.writes += 1;
        if connection.requests.iter().all(|request| request.is_known) {
            connection.retry_at = None;
        }
        let opens = !std::mem::replace(&mut connection.is_open, true);
        self.arm_visit(visit, place);
        let ends = &mut self.flows[flow_id as usize].ends;
        if opens {
            ends.open(now);
        }
        ends.supply(now, Supply::Bytes(bytes));
        self.after_source_input(flow_id);
    }

    /// The user's side of a connection has had something.
    pub(crate) fn deliver_to_visit(&mut self, flow_id: u32, (visit, place): (usize, usize)) {
        let now = self.now;
        let flow = &self.flows[flow_id as usize];
        let in_order = flow.ends.in_order_bytes(flow.totals.bytes_delivered);
        let state = &mut self.visits[visit];
        let mut next = 0;
        while let (Some(&Answer { object, write, bytes, before }), Some((page, row))) =
            (state.connections[place].answers.get(next), &mut state.page)
        {
            let connection = &mut state.connections[place];
            let arrived = flow.ends.delivered_of_write(write).unwrap_or(in_order.saturating_sub(before));
            if object == 0 && arrived > 0 {
                if !std::mem::replace(&mut state.has_begun, true) {
                    self.recorder.page_row(*row).first = Some(now);
                }
                state.waiting.extend(std::iter::from_fn(|| page.find_in_document(arrived)));
            }
            if arrived < bytes {
                next += 1;
                continue;
            }
            connection.answers.remove(next);
            connection.requests.retain(|request| request.object != object);
            state.waiting.extend(page.arrived(object));
            if page.is_complete() {
                self.recorder.page_row(*row).loaded = Some(now);
                state.page = None;
                let pause = Duration::from_secs_f64(state.pauses.exponential(state.config.think.as_secs_f64()));
                let next = now.saturating_add(pause);
                state.next_view = (state.views < state.config.views && next < state.end).then_some(next);
            }
        }
        self.arm_visit(visit, 0);
        self.arm_visit(visit, place);
        self.ask_for_objects(visit);
    }

    /// What the application of a connection waits for: an instant, and bytes.
    fn arm_visit(&mut self, visit: usize, place: usize) {
        let state = &self.visits[visit];
        let flow_id = state.first_flow + place as u32;
        let flow = &mut self.flows[flow_id as usize];
        let target = match state.target(place) {
            // Any byte may be the last of an answer.
            target if target < u64::MAX && flow.ends.delivered_of_write(0).is_some() => flow.totals.bytes_delivered + 1,
            target => target,
        };
        flow.application.wait_for(state.next_event(place), target);
        self.arm_application(flow_id);
    }
}
