//! The worked examples of `tests/vectors/algorithms_vectors.json`.

use serde_json::Value;
use skyhop_base::Duration;
use skyhop_cc::*;

/// One worked example.
struct Example(Value);

impl Example {
    fn named(name: &str) -> Example {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/algorithms_vectors.json");
        let text = std::fs::read_to_string(path).expect("the worked examples are part of the project");
        let all: Value = serde_json::from_str(&text).expect("the worked examples are JSON");
        let found = all["vectors"].as_array().expect("a list").iter().find(|v| v["name"] == name);
        Example(found.unwrap_or_else(|| panic!("no example {name}")).clone())
    }

    fn input(&self, key: &str) -> f64 {
        self.0["inputs"][key].as_f64().unwrap_or_else(|| panic!("no input {key}"))
    }

    fn inputs(&self, key: &str) -> Vec<f64> {
        list(&self.0["inputs"][key])
    }

    /// Asserts one expected value.
    fn expect(&self, key: &str, got: f64) {
        self.compare(key, self.0["expected"][key].as_f64().unwrap_or_else(|| panic!("no value {key}")), got);
    }

    /// Asserts a list of expected values.
    fn expect_all(&self, key: &str, got: impl IntoIterator<Item = f64>) {
        let expected = list(&self.0["expected"][key]);
        let got: Vec<f64> = got.into_iter().collect();
        assert_eq!(expected.len(), got.len(), "{}: {key}", self.0["name"]);
        for (expected, got) in expected.into_iter().zip(got) {
            self.compare(key, expected, got);
        }
    }

    fn compare(&self, key: &str, expected: f64, got: f64) {
        let tolerance = self.0["tolerance"].as_f64().unwrap_or(0.0);
        let allowed = tolerance * expected.abs().max(1.0);
        assert!((got - expected).abs() <= allowed, "{}: {key}: expected {expected}, got {got}", self.0["name"]);
    }
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("numbers")).collect()
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

#[test]
fn cubic() {
    let config = CubicConfig::of(Bundle::Rfc);
    let e = Example::named("cubic_rfc9438");
    let (w_max, k) = (e.input("W_max"), config.k(e.input("W_max"), e.input("cwnd_epoch")));
    e.expect("K_s", k);
    for (key, t) in [("W_0", 0.0), ("W_1", 1.0), ("W_2", 2.0), ("W_4", 4.0), ("W_6", 6.0), ("W_10", 10.0)] {
        e.expect(key, config.w_cubic(t, k, w_max));
    }
    e.expect("alpha_cubic", config.alpha());

    let e = Example::named("cubic_fast_convergence");
    e.expect("W_max_new", config.w_max_after(e.input("cwnd"), e.input("W_max")));
    e.expect("ssthresh", e.input("cwnd") * config.beta);

    let e = Example::named("cubic_target_clamp");
    let cwnd = e.input("cwnd");
    let w = config.w_cubic(e.input("t_s") + e.input("rtt_s"), config.k(e.input("W_max"), cwnd), e.input("W_max"));
    e.expect("W_cubic", w);
    e.expect("target", config.target(cwnd, w));
    e.expect("increment_per_ack", (config.target(cwnd, w) - cwnd) / cwnd);

    let linux = CubicConfig::of(Bundle::Ns2Linux);
    let e = Example::named("cubic_linux_K");
    e.expect("cube_factor", linux.ns2_cube_factor() as f64);
    let k = linux.ns2_k((e.input("last_max_cwnd") - e.input("cwnd")) as u64) as f64;
    e.expect("K_units_1_1024s", k);
    e.expect("K_s", k / 1024.0);
}

#[test]
fn westwood() {
    let e = Example::named("westwood_tustin");
    let alpha = tustin_alpha(e.input("tau_s"), e.input("delta_s"));
    e.expect("alpha", alpha);
    e.expect("bwe_bps", tustin(alpha, e.input("b_prev"), e.input("sample_prev"), e.input("sample")));

    let e = Example::named("westwood_default_filter");
    let alpha = tustin_alpha(1.0, 0.1);
    e.expect("alpha", alpha);
    e.expect("bwe_bps", tustin(alpha, e.input("b_prev"), e.input("sample_prev"), e.input("sample")));

    let e = Example::named("westwood_ssthresh");
    let ssthresh = bandwidth_window(e.input("bwe_bps"), e.input("rtt_min_s"), e.input("segment_bytes") as u32);
    e.expect("ssthresh", ssthresh);
    e.expect("cwnd_after_3dupack", ssthresh.min(e.input("cwnd")));

    let e = Example::named("westwood_plus_ewma");
    let paper = WestwoodPlusConfig::of(Bundle::Rfc);
    let tustin = WestwoodPlusConfig { filter: RoundFilter::Tustin, ..paper.clone() };
    let inputs = (e.input("b_prev"), e.input("sample_prev"), e.input("sample"));
    e.expect("paper_ewma", paper.next(inputs.0, inputs.1, inputs.2));
    e.expect("ns3_tustin", tustin.next(inputs.0, inputs.1, inputs.2));

    let e = Example::named("westwood_linux_filter");
    let fast = westwood_ns2_filter(e.input("bw_ns_est") as u64, e.input("sample") as u64);
    e.expect("bw_ns_est", fast as f64);
    e.expect("bw_est", westwood_ns2_filter(e.input("bw_est") as u64, fast) as f64);
}

#[test]
fn tibet() {
    let e = Example::named("tibet_ack_stream");
    let config = TibetConfig::of(Bundle::Rfc);
    assert_eq!((config.keep, config.t0), (e.input("alpha"), seconds(e.input("T0_s"))));
    let old = TibetEstimate {
        length: e.input("avg_len_bits"),
        interval: e.input("avg_interval_s"),
        bandwidth: e.input("B_prev_bps"),
    };
    let new = TibetEstimate::observe(Some(old), &config, e.input("sample_len_bits"), e.input("sample_interval_s"));
    e.expect("avg_len_bits", new.length);
    e.expect("avg_interval_s", new.interval);
    e.expect("bwe_bps", new.length / new.interval);
    e.expect("B_bps", new.bandwidth);
    e.expect("ssthresh_segments_rttmin_0_6s_1000B", bandwidth_window(new.bandwidth, 0.6, 1000));
}

#[test]
fn fast() {
    let e = Example::named("fast_update");
    let (w, base) = (e.input("w"), e.input("base_rtt_s"));
    let config = |alpha| FastConfig { alpha, gamma: e.input("gamma"), ..FastConfig::of(Bundle::Rfc) };
    e.expect_all("w_next", e.inputs("alpha").iter().map(|&alpha| config(alpha).next(w, base, e.input("rtt_s"))));
    // At the equilibrium RTT an update changes nothing.
    let rtt = e.0["expected"]["equilibrium_rtt_for_alpha10_s"].as_f64().unwrap();
    e.compare("equilibrium", w, config(10.0).next(w, base, rtt));
}

#[test]
fn hybla() {
    let e = Example::named("hybla");
    let config = HyblaConfig::of(Bundle::Rfc);
    assert_eq!(config.rtt0, seconds(e.input("rtt0_s")));
    let rho: Vec<f64> = e.inputs("rtt_s").iter().map(|&rtt| config.rho(seconds(rtt))).collect();
    let cwnd = e.input("cwnd");
    e.expect_all("rho", rho.iter().copied());
    e.expect_all("ss_increment_per_ack", rho.iter().map(|&rho| hybla_slow_start(rho)));
    e.expect_all("ca_increment_per_ack", rho.iter().map(|&rho| hybla_avoidance(rho, cwnd)));
    e.expect_all("ca_increment_per_rtt", rho.iter().map(|&rho| hybla_avoidance(rho, cwnd) * cwnd));

    let e = Example::named("hybla_linux_fraction");
    let rho_8 = (8.0 * e.input("srtt_ms") / e.input("rtt0_ms")) as u64;
    e.expect("rho_3ls", rho_8 as f64);
    e.expect("rho", (rho_8 >> 3) as f64);
    e.expect("increment", hybla_slow_start_128(rho_8) as f64 / 128.0);
}

#[test]
fn veno() {
    let e = Example::named("veno");
    let config = VenoConfig::of(Bundle::Rfc);
    assert_eq!(config.beta, e.input("beta"));
    let cwnd = e.input("cwnd");
    let backlog: Vec<f64> =
        e.inputs("rtt_s").iter().map(|&rtt| veno_backlog(cwnd, e.input("base_rtt_s"), rtt)).collect();
    e.expect_all("N", backlog.iter().copied());
    e.expect_all("ssthresh_on_loss", backlog.iter().map(|&n| config.after_loss(cwnd, n)));
}

#[test]
fn htcp() {
    let e = Example::named("htcp");
    let config = HtcpConfig::of(Bundle::Rfc);
    let beta = config.beta(e.input("rtt_min_s"), e.input("rtt_max_s"));
    e.expect("beta", beta);
    e.expect_all("alpha_raw", e.inputs("delta_s").iter().map(|&delta| config.f(delta)));
    let alpha = |&delta: &f64| config.alpha(delta, beta, e.input("rtt_min_s"));
    e.expect_all("alpha_scaled", e.inputs("delta_s").iter().map(alpha));
}

#[test]
fn highspeed() {
    for (name, bundle) in [("hstcp_rfc3649", Bundle::Rfc), ("hstcp_ns2", Bundle::Ns2)] {
        let e = Example::named(name);
        let config = HighspeedConfig::of(bundle);
        e.expect_all("a", e.inputs("w").iter().map(|&w| config.a(w)));
        e.expect_all("b", e.inputs("w").iter().map(|&w| config.b(w)));
    }
}

#[test]
fn scalable() {
    let e = Example::named("scalable");
    let config = ScalableConfig::of(Bundle::Rfc);
    let cwnd = e.input("cwnd");
    e.expect("per_ack", config.increase_at(cwnd));
    e.expect("per_rtt", config.increase_at(cwnd) * cwnd);
    e.expect("after_loss", config.after_loss(cwnd));
}

#[test]
fn illinois() {
    let e = Example::named("illinois");
    let config = IllinoisConfig::of(Bundle::Rfc);
    let largest = e.input("max_rtt_s") - e.input("base_rtt_s");
    e.expect_all("alpha", e.inputs("avg_queue_delay_s").iter().map(|&mean| config.alpha(mean, largest)));
    e.expect_all("beta", e.inputs("avg_queue_delay_s").iter().map(|&mean| config.beta(mean, largest)));
}

#[test]
fn yeah() {
    let e = Example::named("yeah");
    let config = YeahConfig::of(Bundle::Rfc);
    let cwnd = e.input("cwnd");
    let queue = yeah_queue(cwnd, e.input("base_rtt_s"), e.input("rtt_s"));
    e.expect("queue_packets", queue);
    let reduction = config.precautionary_reduction(cwnd, queue);
    e.expect("precautionary_reduction", reduction);
    e.expect("cwnd_after", cwnd - reduction);
    e.expect("loss_reduction_in_fast_mode", config.loss_reduction(cwnd, queue, 0));
}

#[test]
fn compound() {
    let e = Example::named("compound");
    let config = CompoundConfig::of(Bundle::Rfc);
    assert_eq!((config.alpha, config.k), (e.input("alpha"), e.input("k")));
    assert_eq!((config.gamma, config.zeta), (e.input("gamma"), e.input("zeta")));
    let win = e.input("win");
    e.expect("gain", config.gain(win));
    e.expect_all("dwnd_next", e.inputs("diff").iter().map(|&diff| config.dwnd_next(win, e.input("dwnd"), diff)));
}

#[test]
fn hystart() {
    let e = Example::named("hystart_delay_threshold");
    let rtts: Vec<f64> = e.inputs("min_rtt_ms").iter().map(|ms| ms / 1e3).collect();
    e.expect_all("eta_ms", rtts.iter().map(|&rtt| 1e3 * hystart_delay_threshold(rtt)));
    e.expect_all("exit_rtt_ms", rtts.iter().map(|&rtt| 1e3 * (rtt + hystart_delay_threshold(rtt))));
    e.expect_all("ack_train_threshold_ms_unpaced", rtts.iter().map(|&rtt| 1e3 * hystart_train_threshold(rtt)));

    let e = Example::named("hystartpp_css_growth");
    e.expect("css_increment", css_growth(e.input("bytes_acked")));
}

#[test]
fn limited_slow_start() {
    let e = Example::named("limited_slow_start");
    let step = |&cwnd: &f64| skyhop_cc::limited_slow_start(cwnd, e.input("max_ssthresh"));
    e.expect_all("increment_per_ack", e.inputs("cwnd").iter().map(step));
}
