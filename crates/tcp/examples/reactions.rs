//! Compares sender, or sender and receiver together, with a reference of recorded reactions:
//!
//! ```text
//! reactions DIR [CASE]           the sender alone, one line per case and its first differences
//! reactions DIR --both [CASE]    both halves together
//! reactions DIR --table          numbers of equal cases per mechanism, as a table in Markdown
//! ```

use std::io::Write;
use std::path::Path;

use skyhop_tcp::reference::{
    Case, Difference, ReferenceError, SenderComparison, compare_both, compare_sender, read_cases, read_packets,
    read_states, read_windows,
};

fn compare(folder: &Path, case: &Case, both: bool) -> Result<(SenderComparison, Option<Difference>), ReferenceError> {
    let recorded = read_windows(folder, &case.name)?;
    let packets = read_packets(folder, &case.name)?;
    let told = read_states(folder, &case.name)?;
    if both {
        let result = compare_both(case, &packets, &recorded, &told)?;
        return Ok((result.sender, result.acks));
    }
    Ok((compare_sender(case, &packets, &recorded, &told)?, None))
}

/// Whether order, times too, windows, ACKs and all of them are equal.
fn marks(result: &SenderComparison, acks: &Option<Difference>) -> [bool; 5] {
    let order = result.order.is_none();
    let times = order && result.times.is_none();
    let windows = result.windows.is_none();
    [order, times, windows, acks.is_none(), times && windows && acks.is_none()]
}

fn table(folder: &Path, out: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut rows: Vec<(String, u32, [u32; 10])> = vec![("all".to_owned(), 0, [0; 10])];
    for case in read_cases(folder)? {
        if rows.iter().all(|row| row.0 != case.mechanism) {
            rows.push((case.mechanism.clone(), 0, [0; 10]));
        }
        let mut equal = [0; 10];
        for (half, both) in [false, true].into_iter().enumerate() {
            let (result, acks) = compare(folder, &case, both)?;
            for (i, mark) in marks(&result, &acks).into_iter().enumerate() {
                equal[half * 5 + i] = u32::from(mark);
            }
        }
        for row in rows.iter_mut().filter(|row| row.0 == "all" || row.0 == case.mechanism) {
            row.1 += 1;
            for (sum, equal) in row.2.iter_mut().zip(equal) {
                *sum += equal;
            }
        }
    }
    rows.rotate_left(1);
    writeln!(out, "| mechanism | cases | order | times | windows | all | order | times | windows | ACKs | all |")?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for (mechanism, cases, e) in rows {
        writeln!(
            out,
            "| {mechanism} | {cases} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            e[0], e[1], e[2], e[4], e[5], e[6], e[7], e[8], e[9]
        )?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: reactions DIR [--both | --table] [CASE]")?;
    let folder = Path::new(&folder);
    let mut only = arguments.next();
    let mut out = std::io::stdout().lock();
    if only.as_deref() == Some("--table") {
        return table(folder, &mut out);
    }
    let both = only.as_deref() == Some("--both");
    if both {
        only = arguments.next();
    }
    let (mut cases, mut sums, mut states, mut late) = (0, [0; 5], 0, 0);
    for case in read_cases(folder)? {
        if only.as_ref().is_some_and(|only| !case.name.contains(only.as_str())) {
            continue;
        }
        let (c, acks) = compare(folder, &case, both)?;
        cases += 1;
        let equal = marks(&c, &acks);
        for (sum, equal) in sums.iter_mut().zip(equal) {
            *sum += u32::from(equal);
        }
        states += u32::from(c.states.is_none());
        late += u32::from(equal[4] && c.late_timers > 0);
        let differences = [
            ("order", 'O', &c.order),
            ("times", 'T', &c.times),
            ("windows", 'W', &c.windows),
            ("states", 'S', &c.states),
            ("timeouts", 'R', &c.timeouts),
            ("acks", 'A', &acks),
            ("flags", 'F', &c.flags),
        ];
        let marks: String =
            differences.iter().map(|&(_, letter, text)| if text.is_none() { '.' } else { letter }).collect();
        writeln!(out, "{marks} {:28} {:5} packets, worst {:.3} ms", case.name, c.packets, c.worst.as_secs_f64() * 1e3)?;
        for (name, _, text) in differences {
            if let Some(text) = text {
                writeln!(out, "       {name}: {text}")?;
            }
        }
    }
    let [order, times, windows, acks, equal] = sums;
    writeln!(
        out,
        "{cases} cases: order {order}, times too {times}, windows {windows}, ACKs {acks}, states {states}, \
         equal {equal} ({late} with late timers)"
    )?;
    Ok(())
}
