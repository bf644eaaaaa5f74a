//! The threads of a run beside the one that asks for it.
//!
//! They live as long as the run and sleep while nobody needs them. A run stops often, for its progress and its rows,
//! and threads that began anew each time often began on the core of the thread that started them: the kernel found the
//! other core busy with the end of their predecessors, and moved them only some milliseconds later. Then two threads
//! took as long as one.

use super::{Broken, Shared, Windows};
use crate::simulation::Simulation;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// How a thread has got on with its parts; the outer error is a panic.
pub(super) type Outcome = std::thread::Result<Result<Windows, Broken>>;

/// Parts to run until the threads pause.
struct Job {
    thread: usize,
    parts: Vec<Simulation>,
    shared: Shared,
}

struct Worker {
    /// Gone when the worker is to end.
    jobs: Option<Sender<Job>>,
    done: Receiver<(Vec<Simulation>, Outcome)>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// # Errors
    /// If the system gives no thread.
    fn new() -> std::io::Result<Worker> {
        let (jobs, of_worker) = channel::<Job>();
        let (to_owner, done) = channel();
        let thread = Builder::new().name("skyhop".to_owned()).spawn(move || {
            for Job { thread, mut parts, shared } in of_worker {
                let outcome = run(&shared, thread, &mut parts);
                drop(shared);
                if to_owner.send((parts, outcome)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Worker { jobs: Some(jobs), done, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        // Its panics have been handed over.
        self.thread.take().map(JoinHandle::join);
    }
}

#[derive(Default)]
pub(super) struct Workers {
    workers: Vec<Worker>,
}

impl Workers {
    /// So many threads with the one that calls; fewer if the system does not give as many.
    pub fn get(&mut self, threads: usize) -> usize {
        while self.workers.len() + 1 < threads
            && let Ok(worker) = Worker::new()
        {
            self.workers.push(worker);
        }
        threads.min(self.workers.len() + 1)
    }

    /// Runs the parts on so many threads, which [`Workers::get`] has given, until they pause. Gives how each thread got
    /// on.
    ///
    /// # Panics
    /// If a worker has died.
    pub fn run(&mut self, threads: usize, parts: &mut Vec<Simulation>, shared: &Shared) -> Vec<Outcome> {
        let per_thread = parts.len().div_ceil(threads);
        let mut busy = 0;
        while parts.len() > per_thread {
            // The last ones first, so that the parts stand in their order again afterwards.
            let thread = parts.len().div_ceil(per_thread) - 1;
            let job = Job { thread, parts: parts.split_off(thread * per_thread), shared: shared.clone() };
            let sent = self.workers[busy].jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
            assert!(sent, "a worker has died");
            busy += 1;
        }
        let mut outcomes = vec![run(shared, 0, parts)];
        for worker in self.workers[..busy].iter().rev() {
            let Ok((mut its_parts, outcome)) = worker.done.recv() else { unreachable!("a worker has died") };
            parts.append(&mut its_parts);
            outcomes.push(outcome);
        }
        outcomes
    }
}

/// Runs some of the parts on this thread. If it panics, the others do not wait for it.
fn run(shared: &Shared, thread: usize, parts: &mut [Simulation]) -> Outcome {
    let outcome = catch_unwind(AssertUnwindSafe(|| shared.work(thread, parts)));
    if outcome.is_err() {
        shared.meeting.break_off();
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_there_again_the_next_time() {
        let mut workers = Workers::default();
        assert_eq!((workers.get(1), workers.workers.len()), (1, 0));
        let ids = |workers: &Workers| -> Vec<_> {
            workers.workers.iter().filter_map(|worker| Some(worker.thread.as_ref()?.thread().id())).collect()
        };
        assert_eq!(workers.get(3), 3);
        let before = ids(&workers);
        assert_eq!((workers.get(2), workers.get(3), before.len()), (2, 3, 2));
        assert_eq!(ids(&workers), before);
    }
}
