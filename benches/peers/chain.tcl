# ns-2's side of the comparison: TCP flows over a chain of links. Usage: ns chain.tcl KEY=VALUE ...
#
#   duration   simulated seconds
#   hops       links of the chain, "rate_bps,delay_s,waiting_packets,loss" with "/" between them; both directions alike
#   access     "rate_bps,delay_s" of each flow's own link at both ends, or "none": then flows start and end on the chain
#   bottleneck index of the hop whose forward queue is averaged
#   flows, mss, header, window, initial_window, min_rto, initial_rto, ack_every, ack_delay
#   starts     first and last start in seconds, "first,last": flow i starts at first + (last - first) i / flows
#   mark       simulated second from which CPU time and packet-hops count: the network is built and every flow has begun
#   seed       of the random losses
#   queue_from simulated second from which the queue is averaged
#   count      1: count packet-hops and the queue, which costs time; 0: run bare, to be timed
#   headers    used: packets have the headers that are used; all: those of every protocol, as ns-2 is installed
#
# Prints one line of JSON; what was not counted is null. Goodput is a mean over the whole run.

array set option {count 0 queue_from 0 headers used}
foreach argument $argv {
    set at [string first = $argument]
    set option([string range $argument 0 [expr {$at - 1}]]) [string range $argument [expr {$at + 1}] end]
}

if {$option(headers) eq "used"} {
    remove-all-packet-headers
    add-packet-header Common Flags IP TCP
}
set ns [new Simulator]
ns-random $option(seed)
# Routes by hand: with shortest paths between all pairs 1000 flows would spend minutes before they start.
$ns rtproto Manual

proc route {node destination next} {
    [$node get-module Manual] add-route [$destination id] [[$::ns link $node $next] head]
}

# Counts the packets that reach the far end of a link, and measures its queue.
proc watch {from to} {
    global ns received
    set link [$ns link $from $to]
    set snoop [new SnoopQueue/In]
    set monitor [new QueueMonitor]
    $snoop set-monitor $monitor
    set ttl [$link set ttl_]
    $snoop target [$ttl target]
    $ttl target $snoop
    lappend received $monitor
}

proc connect_nodes {a b rate delay limit loss} {
    global ns option
    $ns duplex-link $a $b $rate ${delay}s DropTail
    foreach {from to} [list $a $b $b $a] {
        # ns-2's limit has no room for the packet that is being sent, yet counts one: limit L lets L - 1 wait.
        $ns queue-limit $from $to [expr {$limit + 1}]
        if {$loss > 0} {
            set errors [new ErrorModel]
            $errors unit pkt
            $errors set rate_ $loss
            $errors ranvar [new RandomVariable/Uniform]
            $ns link-lossmodel $errors $from $to
            # Where ns-2 sends these losses the queue's monitor would take them for packets that left the queue.
            $errors drop-target [new Agent/Null]
        }
        if {$option(count)} {
            watch $from $to
        }
    }
}

set received {}
set unlimited 100000000
set chain [list [$ns node]]
foreach hop [split $option(hops) /] {
    foreach {rate delay limit loss} [split $hop ,] break
    lappend chain [$ns node]
    connect_nodes [lindex $chain end-1] [lindex $chain end] $rate $delay $limit $loss
}
set last [expr {[llength $chain] - 1}]

if {$option(count)} {
    set from [lindex $chain $option(bottleneck)]
    set to [lindex $chain [expr {$option(bottleneck) + 1}]]
    set queue [$ns monitor-queue $from $to ""]
    set queue_integral [$queue get-pkts-integrator]
}

# Routes along the chain to a node behind its end `end` (0 or $last).
proc route_chain {destination end} {
    global chain last
    for {set i 0} {$i <= $last} {incr i} {
        if {$i == $end} continue
        set next [expr {$end > $i ? $i + 1 : $i - 1}]
        route [lindex $chain $i] $destination [lindex $chain $next]
    }
}

if {$option(access) eq "none"} {
    set left [lindex $chain 0]
    set right [lindex $chain end]
    route_chain $left 0
    route_chain $right $last
}
foreach {first_start last_start} [split $option(starts) ,] break
for {set i 0} {$i < $option(flows)} {incr i} {
    if {$option(access) ne "none"} {
        foreach {rate delay} [split $option(access) ,] break
        set left [$ns node]
        set right [$ns node]
        connect_nodes $left [lindex $chain 0] $rate $delay $unlimited 0
        connect_nodes [lindex $chain end] $right $rate $delay $unlimited 0
        route $left $right [lindex $chain 0]
        route $right $left [lindex $chain end]
        route [lindex $chain 0] $left $left
        route [lindex $chain end] $right $right
        route_chain $left 0
        route_chain $right $last
    }
    set tcp [new Agent/TCP/Sack1]
    $tcp set packetSize_ $option(mss)
    $tcp set tcpip_base_hdr_size_ $option(header)
    $tcp set window_ $option(window)
    $tcp set windowInit_ $option(initial_window)
    $tcp set minrto_ $option(min_rto)
    $tcp set rtxcur_init_ $option(initial_rto)
    $tcp set tcpTick_ 0.001
    $tcp set maxcwnd_ 0
    $tcp set fid_ $i
    if {$option(ack_every) == 1} {
        set sink [new Agent/TCPSink/Sack1]
    } else {
        set sink [new Agent/TCPSink/Sack1/DelAck]
        $sink set interval_ $option(ack_delay)
    }
    $ns attach-agent $left $tcp
    $ns attach-agent $right $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [expr {$first_start + ($last_start - $first_start) * double($i) / $option(flows)}] "$ftp start"
    lappend senders $tcp
}

# CPU time of this process in seconds, from the scheduler's own nanoseconds: Tcl has no clock for it.
proc cpu_seconds {} {
    set file [open /proc/self/schedstat]
    set spent [lindex [read $file] 0]
    close $file
    return [expr {$spent / 1e9}]
}

proc peak_rss_kib {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $file] all kib
    close $file
    return $kib
}

proc mark {} {
    global cpu_at_mark received
    foreach monitor $received { $monitor set parrivals_ 0 }
    set cpu_at_mark [cpu_seconds]
}

# What the queue held before does not count: the sum starts again from zero.
proc forget_queue {} {
    global option queue_integral
    $queue_integral newpoint $option(queue_from) [$queue_integral set lasty_]
    $queue_integral set sum_ 0
}

proc finish {} {
    global option senders received queue_integral cpu_at_mark
    set cpu [expr {[cpu_seconds] - $cpu_at_mark}]
    set acknowledged 0
    foreach tcp $senders {
        # Segment 0 is the SYN and carries nothing.
        set highest [$tcp set ack_]
        if {$highest > 0} { incr acknowledged $highest }
    }
    set goodput [expr {8.0 * $acknowledged * $option(mss) / $option(duration)}]
    set hops null
    set mean null
    if {$option(count)} {
        set hops 0
        foreach monitor $received { incr hops [expr {int([$monitor set parrivals_])}] }
        $queue_integral newpoint $option(duration) [$queue_integral set lasty_]
        set mean [expr {[$queue_integral set sum_] / ($option(duration) - $option(queue_from))}]
    }
    puts "{\"cpu_s\": $cpu, \"peak_rss_kib\": [peak_rss_kib], \"packet_hops\": $hops,\
          \"goodput_bps\": $goodput, \"queue_mean_packets\": $mean}"
    exit 0
}
$ns at $option(mark) mark
if {$option(count) && $option(queue_from) > 0} { $ns at $option(queue_from) forget_queue }
$ns at $option(duration) finish
$ns run
