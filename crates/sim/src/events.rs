//! The event queue: one re-armable slot per component, so that nothing is ever cancelled, allocated or stale.
//!
//! Order: time, then the time at which the event was scheduled, then the slot. Slots are handed out by class and
//! within a class by the rank of the component's name, never in the order of construction, so simultaneous
//! arrivals are served in the order in which they were sent (as in ns-2) and the order of declaration changes
//! nothing. The heap is 4-ary: for the tens to thousands of armed slots of a simulation its levels fit in few
//! cache lines.

use skyhop_base::Time;

const ARITY: usize = 4;
const IDLE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub time: Time,
    pub scheduled: Time,
    pub slot: u32,
}

#[derive(Debug)]
pub struct EventQueue {
    heap: Vec<Event>,
    /// Position in the heap of each slot, [`IDLE`] when it is not armed.
    position: Vec<u32>,
}

impl EventQueue {
    pub fn new(slots: usize) -> EventQueue {
        EventQueue { heap: Vec::with_capacity(slots), position: vec![IDLE; slots] }
    }

    #[inline]
    pub fn peek(&self) -> Option<Event> {
        self.heap.first().copied()
    }

    #[inline]
    pub fn armed_at(&self, slot: u32) -> Option<Time> {
        let position = self.position[slot as usize];
        (position != IDLE).then(|| self.heap[position as usize].time)
    }

    /// Arms the slot, or moves it if it is armed.
    #[inline]
    pub fn arm(&mut self, slot: u32, time: Time, scheduled: Time) {
        let event = Event { time, scheduled, slot };
        let position = self.position[slot as usize];
        if position == IDLE {
            self.heap.push(event);
            self.sift_up(self.heap.len() - 1, event);
        } else if event < self.heap[position as usize] {
            self.sift_up(position as usize, event);
        } else {
            self.sift_down(position as usize, event);
        }
    }

    #[inline]
    pub fn disarm(&mut self, slot: u32) {
        let position = self.position[slot as usize];
        if position == IDLE {
            return;
        }
        self.position[slot as usize] = IDLE;
        let position = position as usize;
        let Some(last) = self.heap.pop() else { return };
        if position == self.heap.len() {
            return;
        }
        if position > 0 && last < self.heap[(position - 1) / ARITY] {
            self.sift_up(position, last);
        } else {
            self.sift_down(position, last);
        }
    }

    /// Puts `event` at `hole` or above it.
    #[inline]
    fn sift_up(&mut self, mut hole: usize, event: Event) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= event {
                break;
            }
            self.place(hole, self.heap[parent]);
            hole = parent;
        }
        self.place(hole, event);
    }

    /// Puts `event` at `hole` or below it.
    #[inline]
    fn sift_down(&mut self, mut hole: usize, event: Event) {
        loop {
            let first = hole * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let end = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..end {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if event <= self.heap[least] {
                break;
            }
            self.place(hole, self.heap[least]);
            hole = least;
        }
        self.place(hole, event);
    }

    #[inline]
    fn place(&mut self, position: usize, event: Event) {
        self.heap[position] = event;
        self.position[event.slot as usize] = position as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use skyhop_base::Stream;

    #[test]
    fn events_come_in_the_order_of_time_then_scheduling_then_slot() {
        let at = Time::from_nanos;
        let mut queue = EventQueue::new(4);
        queue.arm(3, at(5), at(1));
        queue.arm(2, at(5), at(2));
        queue.arm(1, at(5), at(1));
        queue.arm(0, at(6), at(0));
        let mut order = Vec::new();
        while let Some(event) = queue.peek() {
            order.push(event.slot);
            queue.disarm(event.slot);
        }
        assert_eq!(order, [1, 3, 2, 0]);
    }

    /// Against the plainest possible model: a list that is searched for its least entry.
    #[test]
    fn random_arming_and_disarming_keeps_the_order() {
        let slots = 57;
        let mut stream = Stream::new(1, "events", "test");
        let mut queue = EventQueue::new(slots);
        let mut model: Vec<Option<Event>> = vec![None; slots];
        for step in 0..20_000u64 {
            let slot = (stream.uniform() * slots as f64) as u32;
            let time = Time::from_nanos((stream.uniform() * 50.0) as u64);
            match (stream.uniform() * 3.0) as u32 {
                0 => {
                    queue.disarm(slot);
                    model[slot as usize] = None;
                }
                _ => {
                    let scheduled = Time::from_nanos(step % 7);
                    queue.arm(slot, time, scheduled);
                    model[slot as usize] = Some(Event { time, scheduled, slot });
                }
            }
            assert_eq!(queue.peek(), model.iter().flatten().min().copied());
            assert_eq!(queue.armed_at(slot), model[slot as usize].map(|event| event.time));
        }
    }
}
