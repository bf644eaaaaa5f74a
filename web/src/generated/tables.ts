// Written by web/tools/tables.py from the engine's tables. Do not edit.
import type { Count, Flag, Real, Text } from "../data/columns";

/** The tables of a run folder, column by column; units stand in the names. */
export interface Tables {
  flows: {
    flow: Text;
    from: Text;
    to: Text;
    start_s: Real;
    stop_s: Real;
    completion_s: Real;
    goodput_bps: Real;
    throughput_bps: Real;
    packets_sent: Count;
    packets_received: Count;
    packets_duplicate: Count;
    retransmissions: Count;
    probes: Count;
    timeouts: Count;
    fast_retransmits: Count;
    cwnd_cuts: Count;
    bytes_delivered: Count;
    dropped: Count;
    dropped_queue: Count;
    dropped_error: Count;
    dropped_link_change: Count;
    dropped_no_route: Count;
    dropped_ttl: Count;
    dropped_priority: Count;
    acks_dropped: Count;
    delivery_fraction: Real;
    tcp_efficiency: Real;
    information_efficiency: Real;
    rtt_mean_s: Real;
    rtt_median_s: Real;
    rtt_p95_s: Real;
    rtt_min_s: Real;
    rtt_max_s: Real;
    delay_mean_s: Real;
    delay_median_s: Real;
    delay_p95_s: Real;
    delay_min_s: Real;
    delay_max_s: Real;
    jitter_mean_s: Real;
    jitter_median_s: Real;
    jitter_p95_s: Real;
    jitter_min_s: Real;
    jitter_max_s: Real;
    interarrival_mean_s: Real;
    interarrival_median_s: Real;
    interarrival_p95_s: Real;
    interarrival_min_s: Real;
    interarrival_max_s: Real;
    cwnd_mean: Real;
  };
  links: {
    link: Text;
    kind: Text;
    from: Text;
    to: Text;
    rate_bps: Real;
    utilisation: Real;
    packets: Count;
    bytes: Count;
    queue_mean_packets: Real;
    queue_max_packets: Count;
    marked: Count;
    dropped: Count;
    dropped_queue: Count;
    dropped_error: Count;
    dropped_link_change: Count;
    dropped_no_route: Count;
    dropped_ttl: Count;
    dropped_priority: Count;
    dropped_early: Count;
    sojourn_mean_s: Real;
    sojourn_median_s: Real;
    sojourn_p95_s: Real;
    sojourn_max_s: Real;
  };
  drops: {
    time_s: Real;
    cause: Text;
    link: Text;
    node: Text;
    flow: Text;
    seq: Count;
    size_bytes: Count;
    is_ack: Flag;
  };
  flow_series: {
    time_s: Real;
    flow: Text;
    cwnd: Real;
    inflation: Count;
    ssthresh: Real;
    in_flight: Count;
    phase: Text;
    rtt_s: Real;
    srtt_s: Real;
    rto_s: Real;
    delay_mean_s: Real;
    jitter_mean_s: Real;
    interarrival_mean_s: Real;
    goodput_bps: Real;
    throughput_bps: Real;
    received: Count;
    dropped: Count;
  };
  link_series: {
    time_s: Real;
    link: Text;
    queue_packets: Count;
    utilisation: Real;
  };
  flow_events: {
    time_s: Real;
    flow: Text;
    event: Text;
    cwnd: Real;
    ssthresh: Real;
  };
  handovers: {
    time_s: Real;
    terminal: Text;
    from: Text;
    to: Text;
    elevation_deg: Real;
    slant_range_km: Real;
    why: Text;
    kind: Text;
    from_beam: Count;
    to_beam: Count;
  };
  link_changes: {
    time_s: Real;
    link: Text;
    up: Flag;
    why: Text;
  };
  paths: {
    time_s: Real;
    flow: Text;
    hops: Count;
    delay_s: Real;
    path: Text;
  };
  positions: {
    time_s: Real;
    node: Text;
    latitude_deg: Real;
    longitude_deg: Real;
    altitude_km: Real;
  };
  packets: {
    time_s: Real;
    link: Text;
    event: Text;
    flow: Text;
    seq: Count;
    size_bytes: Count;
  };
  transfers: {
    time_s: Real;
    flow: Text;
    number: Count;
    bytes: Count;
    begin_s: Real;
    completion_s: Real;
  };
  workloads: {
    workload: Text;
    class: Text;
    transfers: Count;
    finished: Count;
    unfinished: Count;
    bytes: Count;
    bytes_finished: Count;
    completion_p50_s: Real;
    completion_p95_s: Real;
    completion_p99_s: Real;
    slowdown_p50: Real;
    slowdown_p95: Real;
    slowdown_p99: Real;
  };
  workload_transfers: {
    time_s: Real;
    workload: Text;
    number: Count;
    from: Text;
    to: Text;
    bytes: Count;
    first_byte_s: Real;
    completion_s: Real;
    ideal_s: Real;
    slowdown: Real;
  };
  calls: {
    flow: Text;
    frames: Count;
    lost: Count;
    late: Count;
    lost_share: Real;
    delay_s: Real;
    burst_ratio: Real;
    rating: Real;
    mos: Real;
  };
  messages: {
    flow: Text;
    deadline_s: Real;
    messages: Count;
    late: Count;
    lost: Count;
    missed: Real;
  };
}
