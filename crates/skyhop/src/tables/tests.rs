use super::*;
use crate::sample;
use arrow_array::{Array, ArrayRef};
use skyhop_sim::endpoint::MessageCounts;
use skyhop_sim::records::Distribution;

/// The cells of one column as text; null as "-".
fn cells(batch: &RecordBatch, column: &str) -> Vec<String> {
    let array: &ArrayRef = batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
    (0..array.len())
        .map(|row| match Column::of(array) {
            _ if array.is_null(row) => "-".into(),
            Column::Real(values) => values.value(row).to_string(),
            Column::Count(values) => values.value(row).to_string(),
            Column::Flag(values) => values.value(row).to_string(),
            Column::Text(values) => values.value(row).to_string(),
        })
        .collect()
}

fn columns(name: &str) -> String {
    let batch = table(&Records::default(), name).unwrap();
    batch.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(" ")
}

/// Readers in other languages know these names. A change here raises [`RECORDS_FORMAT`], unless it adds a column at the
/// end of a table that the hash contains only where it holds a value.
#[test]
fn columns_are_the_contract() {
    let expected = [
        (
            "flows",
            "flow from to start_s stop_s completion_s goodput_bps throughput_bps packets_sent packets_received \
             packets_duplicate retransmissions probes timeouts fast_retransmits cwnd_cuts spurious_losses \
             data_blocked streams_blocked messages_written messages_dropped messages_received \
             bytes_delivered dropped dropped_queue \
             dropped_error dropped_link_change dropped_no_route dropped_ttl dropped_priority acks_dropped \
             delivery_fraction tcp_efficiency information_efficiency rtt_mean_s \
             rtt_median_s rtt_p95_s rtt_min_s rtt_max_s delay_mean_s delay_median_s delay_p95_s delay_min_s \
             delay_max_s \
             jitter_mean_s jitter_median_s jitter_p95_s jitter_min_s jitter_max_s interarrival_mean_s \
             interarrival_median_s interarrival_p95_s interarrival_min_s interarrival_max_s cwnd_mean",
        ),
        (
            "links",
            "link kind from to rate_bps utilisation packets bytes queue_mean_packets queue_max_packets marked dropped \
             dropped_queue dropped_error dropped_link_change dropped_no_route dropped_ttl dropped_priority \
             dropped_early sojourn_mean_s sojourn_median_s sojourn_p95_s sojourn_max_s",
        ),
        ("drops", "time_s cause link node flow seq size_bytes is_ack"),
        (
            "flow_series",
            "time_s flow cwnd inflation ssthresh in_flight phase rtt_s srtt_s rto_s pacing_bps delay_mean_s \
             jitter_mean_s interarrival_mean_s goodput_bps throughput_bps received dropped",
        ),
        ("link_series", "time_s link queue_packets utilisation"),
        ("flow_events", "time_s flow event cwnd ssthresh"),
        ("handovers", "time_s terminal from to elevation_deg slant_range_km why kind from_beam to_beam"),
        ("link_changes", "time_s link up why"),
        ("paths", "time_s flow hops delay_s path"),
        ("positions", "time_s node latitude_deg longitude_deg altitude_km"),
        (
            "packets",
            "time_s link event flow seq size_bytes packet is_ack retransmission protocol payload_bytes header_bytes \
             ecn \
             tcp_flags tcp_seq tcp_ack tcp_window_bytes tcp_ts_value tcp_ts_echo tcp_sack \
             quic_type quic_ack quic_streams to",
        ),
        ("transfers", "time_s flow number bytes begin_s completion_s"),
        (
            "workloads",
            "workload class transfers finished unfinished bytes bytes_finished completion_p50_s completion_p95_s \
             completion_p99_s \
             slowdown_p50 slowdown_p95 slowdown_p99",
        ),
        ("workload_transfers", "time_s workload number from to bytes first_byte_s completion_s ideal_s slowdown"),
        ("pages", "time_s workload visit view from to objects bytes first_byte_s load_s done"),
        ("calls", "flow frames lost late lost_share delay_s burst_ratio rating mos"),
        ("messages", "flow deadline_s messages late lost missed"),
        ("videos", "flow segments startup_s played_s stalls stalled_s stalled_share quality_mean_bps switches done"),
    ];
    assert_eq!(expected.map(|(name, _)| name), TABLES);
    for (name, names) in expected {
        assert_eq!(columns(name), names, "columns of {name}");
    }
    assert!(table(&Records::default(), "flow").is_none());
}

#[test]
fn names_stand_for_ids_and_absent_values_are_null() {
    let records = sample::records();
    let flows = table(&records, "flows").unwrap();
    assert_eq!(cells(&flows, "flow"), ["bic", "a flow whose name is long"]);
    assert_eq!(cells(&flows, "from"), ["berkeley", "chennai"]);
    assert_eq!(cells(&flows, "completion_s"), ["-", "30"], "31 s on the clock, 30 s after the start");
    assert_eq!(cells(&flows, "dropped"), ["4", "4"]);
    assert_eq!(cells(&flows, "dropped_link_change"), ["1", "1"]);
    assert_eq!(cells(&flows, "acks_dropped"), ["2", "2"]);
    assert_eq!(cells(&flows, "rtt_p95_s"), ["0.3", "0.3"]);
    assert_eq!(cells(&flows, "jitter_mean_s"), ["-", "-"], "a mean of no samples");
    assert_eq!(cells(&table(&records, "links").unwrap(), "to"), ["-"]);
    let drops = table(&records, "drops").unwrap();
    assert_eq!(cells(&drops, "link"), ["-", "berkeley up"]);
    assert_eq!(cells(&drops, "cause"), ["no-route", "queue"]);
    let series = table(&records, "flow_series").unwrap();
    assert_eq!(cells(&series, "rtt_s"), ["0.12"; 4]);
    assert_eq!(cells(&series, "jitter_mean_s"), ["-"; 4], "not a number is null");
    let paths = table(&records, "paths").unwrap();
    assert_eq!(cells(&paths, "hops"), ["-", "2"]);
    assert_eq!(cells(&paths, "delay_s"), ["-", "0.0625"]);
    assert_eq!(cells(&paths, "path"), ["", "berkeley > iridium-0-3 > chennai"]);
}

#[test]
fn the_hash_does_not_see_the_order_of_declaration() {
    let records = sample::records();
    let mut other = records.clone();
    other.flow_names.reverse();
    other.flows.reverse();
    other.flow_series.swap(0, 1);
    other.flow_series.swap(2, 3);
    other.flows.iter_mut().for_each(|r| r.flow = 1 - r.flow);
    other.flow_series.iter_mut().for_each(|r| r.flow = 1 - r.flow);
    other.drops.iter_mut().for_each(|r| r.flow = 1 - r.flow);
    other.transfers.iter_mut().for_each(|r| r.flow = 1 - r.flow);
    other.flow_events.iter_mut().for_each(|r| r.flow = 1 - r.flow);
    other.paths.iter_mut().for_each(|r| r.flow = 1 - r.flow);
    assert_eq!(records_hash(&records), records_hash(&other));
}

#[test]
fn the_hash_sees_every_value() {
    let original = records_hash(&sample::records());
    assert_eq!(original.len(), 64);
    let changes: [fn(&mut Records); 16] = [
        |r| r.flows[0].goodput_bps = r.flows[0].goodput_bps.next_up(),
        |r| r.flows[0].rtt.count = 0,
        |r| r.flow_names[0].push('x'),
        |r| r.flow_series[3].cwnd = None,
        |r| r.flow_series[3].pacing_bps = None,
        |r| r.drops[1].is_ack = true,
        |r| r.drops.truncate(1),
        |r| r.link_changes[0].up = false,
        |r| r.paths[1].nodes.truncate(2),
        |r| r.links[0].marked = 1,
        |r| r.links[0].early = Some(1),
        |r| r.links[0].sojourn = Some(Distribution { count: 1, ..Distribution::default() }),
        |r| r.flows[1].probes = 1,
        |r| r.flows[1].streams_blocked = Some(0),
        |r| r.flows[1].messages = Some(MessageCounts::default()),
        |r| r.links[0].drops[5] = 1,
    ];
    for (i, change) in changes.iter().enumerate() {
        let mut records = sample::records();
        change(&mut records);
        assert_ne!(records_hash(&records), original, "change {i}");
    }
}

/// The hash of records made by hand. It changes with [`RECORDS_FORMAT`] alone, and then the hash of every run changes,
/// which belongs in the changelog.
#[test]
fn the_hash_of_known_records_stays() {
    let known = "f837c2e1b2dcd7f5ae95fdd2eef24538d1bd8002d99c20fecc8f2cee8fb5672b";
    let found = records_hash(&sample::records());
    assert_eq!((RECORDS_FORMAT, &*found), (6, known), "a change of tables, columns or the hash raises RECORDS_FORMAT");
}

#[test]
fn not_a_number_and_nothing_are_the_same() {
    let mut records = sample::records();
    records.flow_series[0].jitter_mean_s = None; // what NaN is read as
    assert_eq!(records_hash(&records), records_hash(&sample::records()));
}

#[path = "../../../../docs/howto/power.rs"]
mod power;

/// `docs/howto/add-a-measure.md` is true: its example is compiled, becomes a column, and is quoted word for word.
#[test]
fn the_measure_of_the_howto_is_a_column() {
    let page = include_str!("../../../../docs/howto/add-a-measure.md");
    let example = include_str!("../../../../docs/howto/power.rs");
    assert!(page.contains(&format!("```rust\n{example}```\n")), "the page and docs/howto/power.rs differ");
    let mut records = sample::records();
    let (goodput, delay) = (records.flows[0].goodput_bps, records.flows[0].delay.mean_s);
    records.flows[1].delay.count = 0;
    let table = super::columns(TableBuilder::over(&records.flows), &[power::POWER]).finish();
    assert_eq!(cells(&table, "power_bps_per_s"), [(goodput / delay).to_string(), "-".to_owned()]);
}
