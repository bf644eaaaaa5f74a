//! What the howtos promise of a component that is a file and a line in a list: a scenario names it, its canonical form
//! says it all, it runs, and wrong values are told at their place.

use crate::support::run;
use skyhop_scenario::Scenario;

fn network(link: &str, flow: &str) -> String {
    format!(
        "duration = \"2000 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n{link}\n\
         [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

fn problems(text: &str) -> String {
    Scenario::from_toml(text, "test", &[]).expect_err("it is wrong").to_string()
}

const CLOCK: &str = "udp = {}\napplication = { constant_rate = { rate = \"8 kbit/s\", payload = \"100 B\" } }";

/// `docs/howto/add-an-error-model.md`: the link is shadowed for a quarter of the time, in shadows of 5 s.
#[test]
fn shadows_take_their_share_of_the_packets() {
    let errors = "forward = { errors = [{ shadowing = { good = \"15 s\", bad = \"5 s\" } }] }";
    let flow = &run(&network(errors, CLOCK), 1).flows[0];
    let lost = flow.drops[1] as f64 / flow.packets_sent as f64;
    // A hundred shadows, as variable as long: 1 - (3/4)² of them in relative terms, 10 %; four times that.
    assert!((lost - 0.25).abs() < 0.1, "{lost}");
    let text = network("errors = [{ shadowing = { good = \"0 s\", bad = \"5 s\", loss_bad = 2 } }]", CLOCK);
    let told = problems(&text);
    assert!(told.contains("links[0].errors[0].shadowing.loss_bad"), "{told}");
    let told = problems(&text.replace(", loss_bad = 2", ""));
    assert!(told.contains("errors[0].shadowing.good: 0 s is too short: use 1 ms or more"), "{told}");
}

/// `docs/howto/add-an-application.md`: a quarter of 400 kbit/s.
#[test]
fn a_heavy_tailed_source_has_its_mean_rate() {
    let application = |shape: &str| {
        format!(
            "udp = {{}}\napplication = {{ pareto_on_off = {{ rate = \"400 kbit/s\", payload = \"500 B\", \
             on = \"500 ms\", off = \"1.5 s\", shape = {shape} }} }}"
        )
    };
    let flow = &run(&network("", &application("1.9")), 1).flows[0];
    // A thousand bursts, whose variance is infinite: the mean comes near slowly.
    assert!((flow.goodput_bps / 100e3 - 1.0).abs() < 0.25, "{}", flow.goodput_bps);
    let told = problems(&network("", &application("1")));
    assert!(told.contains("application.pareto_on_off.shape: must be more than 1"), "{told}");
}

/// `docs/howto/add-a-queue-discipline.md`.
#[test]
fn a_discipline_of_the_list_is_a_queue_of_a_link() {
    let source = "udp = {}\napplication = { poisson = { rate = \"1.1 Mbit/s\", payload = \"500 B\" } }";
    let link = &run(&network("forward = { queue = { blue = { limit = 100 } } }", source), 1).links[0];
    assert!(link.early.is_some_and(|early| early > 1000), "{:?}", link.early);
    assert!(link.queue_max_packets <= 100);
    let told = problems(&network("queue = { blue = { limit = 0 } }", source));
    assert!(told.contains("links[0].queue.blue.limit"), "{told}");
    let told = problems(&network("queue = { bleu = {} }", source));
    assert!(told.contains("did you mean \"blue\"?"), "{told}");
}
