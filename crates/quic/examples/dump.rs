use skyhop_quic::lab::{cases, run};
use std::path::Path;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(&a[0]);
    let case = cases::read(folder).unwrap().into_iter().find(|c| c.name == a[1]).unwrap();
    let o = run::run(&case, &case.runs[0], run::Habits::Tokio, a[2].parse().unwrap()).unwrap().unwrap();
    let s = cases::start(folder, &case.name).unwrap().unwrap();
    for i in 0..a[3].parse::<usize>().unwrap() {
        if let Some(p) = o.start.get(i) {
            print!(
                "{:.6} {} {} {}",
                p.at.as_secs_f64(),
                if p.data { "D" } else { "A" },
                p.length,
                if p.by_timer { "T" } else { " " }
            );
        }
        if let Some(b) = s.get(i) {
            print!("  | {:.6} {} {}", b.t_in_s, if b.data { "D" } else { "A" }, b.length);
        }
        println!();
    }
}
