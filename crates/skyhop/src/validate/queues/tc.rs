//! A case's parameters, in tc's units, as a discipline of ours.

use super::super::table::Table;
use super::cases::Case;
use skyhop_base::{Duration, Rate};
use skyhop_queue::cake::{CakeConfig, Isolation, Tins};
use skyhop_queue::codel::CodelConfig;
use skyhop_queue::drr::{DrrClass, DrrConfig};
use skyhop_queue::dualpi2::{DualPi2Config, Step};
use skyhop_queue::fifo::FifoConfig;
use skyhop_queue::fq::FqConfig;
use skyhop_queue::fq_codel::FqCodelConfig;
use skyhop_queue::fq_pie::FqPieConfig;
use skyhop_queue::pie::PieConfig;
use skyhop_queue::prio::PrioConfig;
use skyhop_queue::red::{IdleTable, RedConfig};
use skyhop_queue::sfq::SfqConfig;
use skyhop_queue::tbf::{Peak, TbfConfig};
use skyhop_queue::{QueueSpec, Variant};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

/// Whether a discipline has a variant that follows a published text.
pub fn has_text(discipline: &str) -> bool {
    ["codel", "fq_codel", "pie", "fq_pie", "dualpi2", "red"].contains(&discipline)
}

/// The same discipline by the text.
fn by_text(spec: QueueSpec) -> QueueSpec {
    let variant = Variant::Rfc;
    match spec {
        QueueSpec::Codel(config) => QueueSpec::Codel(CodelConfig { variant, ..config }),
        QueueSpec::FqCodel(config) => QueueSpec::FqCodel(FqCodelConfig { variant, ..config }),
        QueueSpec::Pie(config) => QueueSpec::Pie(PieConfig { variant, ..config }),
        QueueSpec::FqPie(config) => QueueSpec::FqPie(FqPieConfig { variant, ..config }),
        // The text decides at dequeue and has a ramp in place of a step in time.
        QueueSpec::DualPi2(config) => {
            let step = config.step.filter(|step| !matches!(step, Step::Sojourn(_)));
            QueueSpec::DualPi2(DualPi2Config { variant, step, drop_early: false, ..config })
        }
        QueueSpec::Red(config) => QueueSpec::Red(RedConfig { variant, idle: None, ..config }),
        other => other,
    }
}

/// The discipline of a case, and the parameters of the case that it does not have.
pub fn spec(folder: &Path, case: &Case, variant: Variant) -> Result<(QueueSpec, Vec<String>), String> {
    let given = Parameters::of(case)?;
    let spec = match case.discipline.as_str() {
        "codel" => QueueSpec::Codel(codel(&given)?),
        "fq_codel" => QueueSpec::FqCodel(fq_codel(&given)?),
        "pie" => QueueSpec::Pie(pie(&given)?),
        "fq_pie" => QueueSpec::FqPie(fq_pie(&given)?),
        "dualpi2" => QueueSpec::DualPi2(dualpi2(&given)?),
        "red" => QueueSpec::Red(red(&given, folder, case)?),
        "tbf" => QueueSpec::Tbf(tbf(&given)?),
        "sfq" => QueueSpec::Sfq(sfq(&given)?),
        "drr" => QueueSpec::Drr(drr(&given)?),
        "prio" => QueueSpec::Prio(prio(&given)?),
        "fq" => QueueSpec::Fq(fq(&given)?),
        "cake" => QueueSpec::Cake(cake(&given)?),
        "pfifo" => QueueSpec::DropTail(FifoConfig::Packets(given.needed("limit")?)),
        "bfifo" => QueueSpec::DropTail(FifoConfig::Bytes(given.first_of(&["limit_bytes", "limit"])?)),
        other => return Err(format!("there is no discipline \"{other}\"")),
    };
    let spec = if variant == Variant::Rfc { by_text(spec) } else { spec };
    Ok((spec, given.unread()))
}

/// `name=value` pairs, each to be read at least once.
struct Parameters<'a> {
    given: BTreeMap<&'a str, &'a str>,
    kernel: BTreeMap<&'a str, &'a str>,
    read: RefCell<Vec<&'a str>>,
}

fn pairs(text: &str) -> Result<BTreeMap<&str, &str>, String> {
    text.split_whitespace()
        .map(|pair| pair.split_once('=').ok_or_else(|| format!("\"{pair}\" is not name=value")))
        .collect()
}

impl<'a> Parameters<'a> {
    fn of(case: &'a Case) -> Result<Parameters<'a>, String> {
        let (given, kernel) = (pairs(&case.parameters)?, pairs(&case.kernel_units)?);
        Ok(Parameters { given, kernel, read: RefCell::default() })
    }

    /// The text of a parameter; `None` when it is absent, "off" or "default".
    fn text(&self, name: &str) -> Option<&'a str> {
        let (&name, &value) = self.given.get_key_value(name)?;
        self.read.borrow_mut().push(name);
        (!["off", "default", "unlimited"].contains(&value)).then_some(value)
    }

    fn parsed<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        self.text(name).map(|text| parse(name, text)).transpose()
    }

    fn or<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        Ok(self.parsed(name)?.unwrap_or(default))
    }

    fn needed<T: FromStr>(&self, name: &str) -> Result<T, String> {
        self.parsed(name)?.ok_or_else(|| format!("the parameter {name} is missing"))
    }

    /// The first of several names that is given.
    fn first_of<T: FromStr>(&self, names: &[&str]) -> Result<T, String> {
        let name = names.iter().find(|name| self.given.contains_key(*name)).unwrap_or(&names[0]);
        self.needed(name)
    }

    /// A list separated by commas or semicolons.
    fn list<T: FromStr>(&self, name: &str) -> Result<Option<Vec<T>>, String> {
        self.text(name).map(|text| text.split([',', ';']).map(|entry| parse(name, entry)).collect()).transpose()
    }

    /// A rate in bytes per second.
    fn rate(&self, name: &str) -> Result<Option<Rate>, String> {
        Ok(self.parsed::<u64>(name)?.and_then(|bytes| Rate::from_bps(bytes.saturating_mul(8))))
    }

    fn micros(&self, name: &str, default: Duration) -> Result<Duration, String> {
        Ok(self.parsed(name)?.map_or(default, Duration::from_micros))
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        Ok(self.parsed::<u8>(name)?.map_or(default, |value| value != 0))
    }

    /// What the kernel made of a parameter.
    fn kernel<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        self.kernel.get(name).map(|text| parse(name, text)).transpose()
    }

    fn mtu(&self, default: u32) -> Result<u32, String> {
        Ok(self.kernel("mtu")?.unwrap_or(default))
    }

    /// Parameters that nobody asked for.
    fn unread(&self) -> Vec<String> {
        let read = self.read.borrow();
        let unread = self.given.iter().filter(|(name, _)| !read.contains(name));
        unread.map(|(name, value)| format!("{name}={value}")).collect()
    }
}

fn parse<T: FromStr>(name: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name}={text} cannot be read"))
}

fn codel(given: &Parameters) -> Result<CodelConfig, String> {
    let default = CodelConfig::default();
    Ok(CodelConfig {
        limit: given.or("limit", default.limit)?,
        target: given.micros("target_us", default.target)?,
        interval: given.micros("interval_us", default.interval)?,
        ecn: given.flag("ecn", default.ecn)?,
        ce_threshold: given.parsed("ce_threshold_us")?.map(Duration::from_micros),
        ce_threshold_mask: given.or("ce_threshold_mask", 0)?,
        ce_threshold_selector: given.or("ce_threshold_selector", 0)?,
        mtu: given.mtu(default.mtu)?,
        ..default
    })
}

fn fq_codel(given: &Parameters) -> Result<FqCodelConfig, String> {
    let default = FqCodelConfig::default();
    Ok(FqCodelConfig {
        limit: given.or("limit", default.limit)?,
        memory_limit: given.or("memory_limit", default.memory_limit)?,
        flows: given.or("flows", default.flows)?,
        // The kernel raises what is less.
        quantum: given.or("quantum", default.quantum)?.max(256),
        drop_batch: given.or("drop_batch_size", default.drop_batch)?.max(1),
        target: given.micros("target_us", default.target)?,
        interval: given.micros("interval_us", default.interval)?,
        ecn: given.flag("ecn", default.ecn)?,
        ce_threshold: given.parsed("ce_threshold_us")?.map(Duration::from_micros),
        ce_threshold_mask: given.or("ce_threshold_mask", 0)?,
        ce_threshold_selector: given.or("ce_threshold_selector", 0)?,
        mtu: given.mtu(default.mtu)?,
        ..default
    })
}

fn pie(given: &Parameters) -> Result<PieConfig, String> {
    let default = PieConfig::default();
    Ok(PieConfig {
        limit: given.or("limit", default.limit)?,
        target: given.micros("target_us", default.target)?,
        update: given.micros("tupdate_us", default.update)?,
        alpha: given.or("alpha", default.alpha)?,
        beta: given.or("beta", default.beta)?,
        ecn: given.flag("ecn", default.ecn)?,
        bytes: given.flag("bytemode", default.bytes)?,
        departure_rate: given.flag("dq_rate_estimator", default.departure_rate)?,
        mtu: given.mtu(default.mtu)?,
        ..default
    })
}

fn fq_pie(given: &Parameters) -> Result<FqPieConfig, String> {
    let default = FqPieConfig::default();
    // The kernel counts packets over this limit and drops none.
    given.text("memory_limit");
    Ok(FqPieConfig {
        limit: given.or("limit", default.limit)?,
        flows: given.or("flows", default.flows)?,
        quantum: given.or("quantum", default.quantum)?,
        target: given.micros("target_us", default.target)?,
        update: given.micros("tupdate_us", default.update)?,
        alpha: given.or("alpha", default.alpha)?,
        beta: given.or("beta", default.beta)?,
        ecn: given.flag("ecn", default.ecn)?,
        ecn_limit: given.or("ecn_prob", default.ecn_limit)?,
        bytes: given.flag("bytemode", default.bytes)?,
        departure_rate: given.flag("dq_rate_estimator", default.departure_rate)?,
        mtu: given.mtu(default.mtu)?,
        ..default
    })
}

fn dualpi2(given: &Parameters) -> Result<DualPi2Config, String> {
    let default = DualPi2Config::default();
    let step = match (given.parsed("step_thresh_us")?, given.parsed("step_thresh_pkts")?) {
        (_, Some(packets)) => Some(Step::Packets(packets)),
        (Some(micros), None) => Some(Step::Sojourn(Duration::from_micros(micros))),
        (None, None) => None,
    };
    Ok(DualPi2Config {
        limit: given.or("limit", default.limit)?,
        memory_limit: given.parsed("memory_limit")?,
        target: given.micros("target_us", default.target)?,
        update: given.micros("tupdate_us", default.update)?,
        alpha: given.or("alpha", default.alpha)?,
        beta: given.or("beta", default.beta)?,
        coupling: given.or("coupling", default.coupling)?,
        step,
        min_qlen_step: given.or("min_qlen_step", default.min_qlen_step)?,
        c_protection: given.or("c_protection", default.c_protection)?,
        ecn_mask: given.or("ecn_mask", default.ecn_mask)?,
        drop_overload: given.flag("drop_overload", default.drop_overload)?,
        drop_early: given.flag("drop_early", default.drop_early)?,
        mtu: given.mtu(default.mtu)?,
        ..default
    })
}

/// RED's own parameters, which sfq may have, too.
fn red_thresholds(given: &Parameters) -> Result<RedConfig, String> {
    let default = RedConfig::default();
    Ok(RedConfig {
        min: given.first_of(&["min_bytes", "min"])?,
        max: given.first_of(&["max_bytes", "max"])?,
        probability: given.or("probability", default.probability)?,
        packet: given.or("avpkt", default.packet)?,
        burst: given.parsed("burst")?,
        weight_log: given.kernel("Wlog")?,
        ecn: given.flag("ecn", false)?,
        harddrop: given.flag("harddrop", false)?,
        ..default
    })
}

/// tc makes the weight and the table for idle times from parameters that a case need not name; the kernel's units and
/// `red_tables.csv` give them. Without either, tc's defaults and the link's rate do.
fn red(given: &Parameters, folder: &Path, case: &Case) -> Result<RedConfig, String> {
    let thresholds = red_thresholds(given)?;
    let link = case.schedule.iter().find_map(|step| step.rate).unwrap_or(thresholds.bandwidth);
    Ok(RedConfig {
        limit: given.first_of(&["limit_bytes", "limit"])?,
        nodrop: given.flag("nodrop", false)?,
        adaptive: given.flag("adaptive", false)?,
        bandwidth: given.rate("bandwidth_Bps")?.unwrap_or(link),
        idle: idle_table(given, folder, case)?,
        ..thresholds
    })
}

/// The case's row of `red_tables.csv`, where there is one.
fn idle_table(given: &Parameters, folder: &Path, case: &Case) -> Result<Option<IdleTable>, String> {
    let path = folder.join("red_tables.csv");
    let Some(cell_log) = given.kernel("Scell_log")?.filter(|_| path.exists()) else { return Ok(None) };
    let table = Table::read(&path).map_err(|error| error.to_string())?;
    let Some(row) = table.rows().find(|row| row.text("case") == case.name) else { return Ok(None) };
    let shifts = (0..256).map(|cell| row.small(&format!("s{cell}"))).collect::<Result<_, _>>();
    Ok(Some(IdleTable { cell_log, shifts: shifts.map_err(|error| error.to_string())? }))
}

fn tbf(given: &Parameters) -> Result<TbfConfig, String> {
    let peak = match given.rate("peakrate_Bps")? {
        None => None,
        Some(rate) => Some(Peak { rate, burst: given.first_of(&["mtu_bytes", "minburst_bytes"])? }),
    };
    Ok(TbfConfig {
        rate: given.rate("rate_Bps")?.ok_or("the parameter rate_Bps is missing")?,
        burst: given.needed("burst_bytes")?,
        limit: given.needed("limit_bytes")?,
        peak,
        overhead: given.or("overhead", 0)?,
        mpu: given.or("mpu", 0)?,
    })
}

fn sfq(given: &Parameters) -> Result<SfqConfig, String> {
    let default = SfqConfig::default();
    let has_red = ["min_bytes", "max_bytes", "min", "max"].iter().any(|name| given.given.contains_key(name));
    Ok(SfqConfig {
        limit: given.or("limit", default.limit)?,
        // The kernel takes no more.
        depth: given.or("depth", default.depth)?.min(default.depth),
        flows: given.or("flows", default.flows)?,
        divisor: given.or("divisor", default.divisor)?,
        quantum: given.or("quantum", default.quantum)?,
        headdrop: given.flag("headdrop", default.headdrop)?,
        perturb: Duration::from_secs(given.or("perturb", 0)?),
        red: if has_red { Some(red_thresholds(given)?) } else { None },
    })
}

fn drr(given: &Parameters) -> Result<DrrConfig, String> {
    let classes: usize = given.needed("classes")?;
    let default = DrrClass::default();
    let quanta = given.list("quantum")?.unwrap_or_else(|| vec![default.quantum]);
    let limits = given.list("limit_per_class")?.unwrap_or_else(|| vec![default.limit]);
    // A list that is shorter than the classes goes on with its last entry.
    let of = |list: &[u32], class: usize| list[class.min(list.len() - 1)];
    let classes = (0..classes).map(|class| DrrClass { quantum: of(&quanta, class), limit: of(&limits, class) });
    Ok(DrrConfig { classes: classes.collect(), map: None })
}

fn prio(given: &Parameters) -> Result<PrioConfig, String> {
    let default = PrioConfig::default();
    let bands = given.or("bands", default.limits.len())?;
    let limits =
        (0..bands).map(|band| given.or(&format!("limit{band}"), default.limits[0])).collect::<Result<_, _>>()?;
    Ok(PrioConfig { limits, map: given.list("priomap")?.unwrap_or(default.map) })
}

fn fq(given: &Parameters) -> Result<FqConfig, String> {
    let default = FqConfig::default();
    // The watchdog is exact here, and the packets of a case without priorities have priority 0.
    given.text("timer_slack_ns");
    given.text("uses_priority");
    let weights = match given.list("weights")? {
        None => default.weights,
        Some(list) => list.try_into().map_err(|_| "weights must be three numbers".to_owned())?,
    };
    Ok(FqConfig {
        limit: given.or("limit", default.limit)?,
        flow_limit: given.or("flow_limit", default.flow_limit)?,
        quantum: given.or("quantum", default.quantum)?,
        initial_quantum: given.or("initial_quantum", default.initial_quantum)?,
        pacing: given.flag("pacing", default.pacing)?,
        flow_max_rate: given.rate("flow_max_rate_Bps")?,
        low_rate_threshold: given.rate("low_rate_threshold_Bps")?.unwrap_or(default.low_rate_threshold),
        refill_delay: given.micros("refill_delay_us", default.refill_delay)?,
        ce_threshold: given.parsed("ce_threshold_us")?.map(Duration::from_micros),
        orphan_mask: given.or("orphan_mask", default.orphan_mask)?,
        weights,
        map: given.list("priomap")?.unwrap_or(default.map),
    })
}

fn cake(given: &Parameters) -> Result<CakeConfig, String> {
    let default = CakeConfig::default();
    let tins = match given.text("tins") {
        Some("besteffort") => Tins::BestEffort,
        None | Some("diffserv3") => Tins::DiffServ3,
        Some("diffserv4") => Tins::DiffServ4,
        Some("diffserv8") => Tins::DiffServ8,
        Some("precedence") => Tins::Precedence,
        Some(other) => return Err(format!("tins={other} is not known")),
    };
    let isolation = match given.text("isolation") {
        None | Some("flows") => Isolation::Flows,
        Some("flowblind") => Isolation::None,
        Some(other) => return Err(format!("isolation={other} is not known: packets here have no hosts")),
    };
    // Every packet is one of its own here: none to split.
    given.text("split_gso");
    Ok(CakeConfig {
        bandwidth: given.rate("rate_Bps")?,
        tins,
        isolation,
        rtt: given.micros("rtt_us", default.rtt)?,
        target: given.parsed("target_us")?.map(Duration::from_micros),
        overhead: given.or("overhead", default.overhead)?,
        mpu: given.or("mpu", default.mpu)?,
        memory: given.parsed("memory")?,
        mtu: given.mtu(default.mtu)?,
    })
}
