//! Compares the sender with a reference of recorded reactions: `reactions DIR [CASE]`, one line per case.

use std::io::Write;
use std::path::Path;

use skyhop_tcp::reference::{compare_both, compare_sender, read_cases, read_packets, read_windows};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: reactions DIR [CASE]")?;
    let mut only = arguments.next();
    let both = only.as_deref() == Some("--both");
    if both {
        only = arguments.next();
    }
    let folder = Path::new(&folder);
    let mut out = std::io::stdout().lock();
    let (mut cases, mut order, mut times, mut windows, mut states, mut equal, mut late) = (0, 0, 0, 0, 0, 0, 0);
    for case in read_cases(folder)? {
        if only.as_ref().is_some_and(|only| !case.name.contains(only.as_str())) {
            continue;
        }
        let recorded = read_windows(folder, &case.name)?;
        let packets = read_packets(folder, &case.name)?;
        let (c, acks) = if both {
            let result = compare_both(&case, &packets, &recorded)?;
            (result.sender, result.acks)
        } else {
            (compare_sender(&case, &packets, &recorded)?, None)
        };
        cases += 1;
        order += usize::from(c.order.is_none());
        times += usize::from(c.order.is_none() && c.times.is_none());
        windows += usize::from(c.windows.is_none());
        states += usize::from(c.states.is_none());
        equal += usize::from(c.is_equal() && acks.is_none());
        late += usize::from(c.is_equal() && c.late_timers > 0);
        let mark = |d: &Option<String>, letter| if d.is_none() { '.' } else { letter };
        let marks = [
            mark(&c.order, 'O'),
            mark(&c.times, 'T'),
            mark(&c.windows, 'W'),
            mark(&c.states, 'S'),
            mark(&acks, 'A'),
            mark(&c.flags, 'F'),
        ];
        let marks: String = marks.iter().collect();
        writeln!(out, "{marks} {:28} {:5} packets, worst {:.3} ms", case.name, c.packets, c.worst.as_secs_f64() * 1e3)?;
        for (name, text) in [
            ("order", &c.order),
            ("times", &c.times),
            ("windows", &c.windows),
            ("states", &c.states),
            ("acks", &acks),
            ("flags", &c.flags),
        ] {
            if let Some(text) = text {
                writeln!(out, "       {name}: {text}")?;
            }
        }
    }
    writeln!(
        out,
        "{cases} cases: order {order}, times too {times}, windows {windows}, states {states}, equal {equal} ({late} with late timers)"
    )?;
    Ok(())
}
