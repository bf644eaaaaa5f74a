//! What the schema cannot say: which keys exclude each other, which are decided elsewhere, and the ranges of values
//! that make a small run which still does something.

use super::schema::ROOT;

/// Keys of which a table takes one group only.
pub const EXCLUSIVE: &[(&str, &[&[&str]])] = &[
    ("DropTailFile", &[&["packets", "counts"], &["bytes"]]),
    ("RedFile", &[&["packets"], &["bytes"]]),
    ("ArqFile", &[&["round_trip"], &["answer"]]),
    ("RepairFile", &[&["arq"], &["erasure"], &["code"]]),
    ("TraceFile", &[&["opportunities"], &["table"], &["delays", "delays_every"], &["opportunities", "delays"]]),
    ("TraceErrors", &[&["packets"], &["during"]]),
    ("AgentFile", &[&["error_report"], &["snoop"], &["survival"], &["eln"], &["pep"]]),
];

/// Tables that need one group of [`EXCLUSIVE`].
pub const NEEDS_ONE: &[&str] = &["RepairFile", "TraceFile", "TraceErrors", "AgentFile"];

/// Keys that the builder of networks has decided on.
pub const DECIDED: &[(&str, &[&str])] = &[
    (
        ROOT,
        &[
            "format",
            "profile",
            "duration",
            "constellation",
            "stations",
            "stations_file",
            "station_classes",
            "links",
            "flows",
            "workloads",
            "agents",
        ],
    ),
    ("ConstellationFile", &["preset", "longitudes", "shells", "elements", "epoch", "satellites", "gsl", "isl"]),
    ("StationFile", &["latitude", "longitude", "city", "track", "terrestrial", "class"]),
    ("ClassOfStationsFile", &["file", "wire"]),
    ("LinkFile", &["between", "rate", "delay"]),
    ("FlowFile", &["name", "from", "to", "via", "tcp", "udp", "quic", "application", "access"]),
    ("AgentFile", &["at"]),
    ("WorkloadFile", &["name", "from", "to", "arrivals", "sizes", "pages", "tcp", "quic", "udp", "burst"]),
];

/// Keys that are given more often than others, so that what stands behind them is drawn often enough.
pub const FAVOURED: &[(&str, f64)] = &[
    ("records", 0.5),
    ("routing", 0.15),
    ("clock", 0.1),
    ("queue", 0.35),
    ("errors", 0.2),
    ("repair", 0.12),
    ("trace", 0.1),
    ("LinkFile.profile", 0.05),
    ("GslFile.profile", 0.05),
    ("control", 0.6),
    ("recovery", 0.3),
    ("notification", 0.12),
    ("handover", 0.4),
    ("beams", 0.12),
    ("switching", 0.2),
    ("layout", 0.1),
    ("FlowFile.start", 0.3),
    ("FlowFile.stop", 0.3),
    ("FlowFile.count", 0.15),
    ("start_spread", 0.3),
];

/// Probability that a table is rich, and how rich it is then.
pub const RICH: (f64, f64) = (0.12, 0.5);

/// Lengths in seconds by key: least and most, each order of magnitude alike; negative numbers are shares of the run.
pub const DURATIONS: &[(&str, f64, f64)] = &[
    ("delay", 1e-6, 0.2),
    ("grid", -0.01, -0.5),
    ("positions", -0.05, -0.5),
    ("every", -0.03, -0.6),
    ("start", -1e-4, -0.7),
    ("start_spread", -1e-3, -0.2),
    ("stop", -0.3, -1.5),
    ("jitter", 1e-5, 0.02),
    ("jitter_every", 0.005, 1.0),
    ("step", 1e-4, 0.1),
    ("spike", 1e-4, 0.2),
    ("before", 1e-3, 0.1),
    ("after", 1e-3, 0.1),
    ("pause", 1e-3, 0.2),
    ("restored", 1.0, 30.0),
    ("restored_at", 1e-3, -0.9),
    ("at", 0.0, 59.9),
    ("think", 0.01, -0.2),
    ("VideoOptions.segment", 0.01, -0.03),
    ("VideoOptions.buffer", -0.1, -0.5),
    ("frame", 0.005, 0.06),
    ("lookahead", 1e-3, 0.02),
    ("fixed", 1e-3, 0.3),
    ("deadline", 0.005, 0.5),
    ("on", 0.01, -0.3),
    ("off", 0.01, -0.3),
    ("interval", 0.005, -0.1),
    ("outage", 1e-3, -0.02),
    ("within", 1e-4, 0.3),
    ("round_trip", 1e-3, 0.6),
    ("timer", 0.01, 1.0),
    ("period", -0.3, -2.0),
    ("delays_every", 1e-3, 0.2),
    ("target_delay", 1e-3, 0.1),
    ("oldest", 8.64e4, 8.64e6),
    ("during", -1e-3, -1.2),
];

/// Sizes in bytes by key.
pub const SIZES: &[(&str, f64, f64)] = &[
    ("bytes", 3e3, 2e5),
    ("sizes", 1e3, 2e5),
    ("response", 500.0, 1e5),
    ("request", 40.0, 1500.0),
    ("payload", 40.0, 1500.0),
    ("mss", 200.0, 2000.0),
    ("header", 1.0, 80.0),
    ("framing", 1.0, 60.0),
    ("mean_packet", 100.0, 1500.0),
    ("buffer", 3e3, 2e5),
    ("smallest", 20.0, 400.0),
    ("TbfConfig.burst", 1500.0, 3e4),
    ("TbfConfig.limit", 3e3, 3e5),
    ("Peak.burst", 1500.0, 5e3),
    ("RedConfig.limit", 1e4, 1e6),
    ("RedConfig.min", 2e3, 3e4),
    ("RedConfig.max", 3e4, 2e5),
    ("weights", 32_768.0, 1e6),
    ("receive_buffer", 2304.0, 1e7),
    ("receive_memory", 2304.0, 1e7),
    ("send_buffer", 4608.0, 1e7),
];

/// Whole numbers by key. Where a run stores or computes as many, the tests stay small.
pub const WHOLE: &[(&str, u64, u64)] = &[
    ("FlowFile.count", 1, 4),
    ("WorkloadFile.count", 1, 30),
    ("WorkloadFile.class", 0, 63),
    ("persistent", 1, 4),
    ("RequestsOptions.count", 1, 20),
    ("VideoOptions.count", 1, 20),
    ("VideoOptions.startup", 1, 3),
    ("window", 1, 300),
    ("ErrorReportOptions.window", 1, 50),
    ("SurvivalOptions.window", 1, 50),
    ("initial_window", 0, 40),
    ("opening_loss_window", 1, 10),
    ("growth_limit", 1, 300),
    ("max_sack_blocks", 0, 4),
    ("sack_memory", 1, 8),
    ("duplicate_threshold", 1, 8),
    ("ack_every", 1, 8),
    ("recovery_burst", 0, 10),
    ("sudden_start_window", 1, 100),
    ("packets", 1, 200),
    ("FlowFile.class", 0, 63),
    ("DualPi2Config.alpha", 1, 1000),
    ("DualPi2Config.beta", 1, 5000),
    ("SfqConfig.limit", 2, 300),
    ("SfqConfig.flows", 1, 100),
    ("FqConfig.map", 0, 2),
    ("PrioConfig.map", 0, 2),
    ("PrioConfig.limits", 1, 300),
    ("DrrClass.limit", 1, 300),
    ("DrrConfig.map", 0, 0),
    ("mark_above", 0, 30),
    ("tries", 1, 12),
    ("links", 1, 6),
    ("users_per_satellite", 1, 4),
    ("antennas", 1, 4),
    ("rings", 1, 20),
    ("segments", 0, 300),
    ("TraceErrors.packets", 0, 1000),
    ("CodeFile.n", 2, 255),
    ("CodeFile.k", 1, 255),
    ("ErasureFile.n", 2, 40),
    ("ErasureFile.k", 1, 39),
    ("t", 0, 16),
];

/// Angles in degrees by key.
pub const ANGLES: &[(&str, f64, f64)] = &[
    ("latitude", -65.0, 65.0),
    ("longitude", -180.0, 180.0),
    ("geostationary", -180.0, 180.0),
    ("latitude_cut", 30.0, 90.0),
    ("elevation_mask", 0.0, 25.0),
    ("below", 0.0, 60.0),
    ("inclination", 30.0, 150.0),
    ("raan_spacing", 5.0, 40.0),
];

/// Lengths in km by key.
pub const LENGTHS: &[(&str, f64, f64)] = &[
    ("altitude", 0.0, 3.0),
    ("ShellFile.altitude", 500.0, 9000.0),
    ("grazing_altitude", 0.0, 300.0),
    ("longest", 1500.0, 15_000.0),
    ("radius", 50.0, 5000.0),
];
