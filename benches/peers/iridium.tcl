# ns-2's side of the Iridium workload: TCP Reno flows from Berkeley to Chennai. Usage: ns iridium.tcl KEY=VALUE ...
#
#   duration   simulated seconds
#   flows, mss, window, start   of the transfers
#
# Prints one line of JSON. Constellation and links are those of Skyhop's preset "iridium".

foreach argument $argv {
    set at [string first = $argument]
    set option([string range $argument 0 [expr {$at - 1}]]) [string range $argument [expr {$at + 1}] end]
}

set planes 6
set per_plane 11
set altitude 780
set inclination 86.4
set plane_spacing 31.6
set isl_rate 25Mb
set gsl_rate 1.5Mb
set queue 50

HandoffManager/Term set elevation_mask_ 8.2
HandoffManager/Term set term_handoff_int_ 10
HandoffManager/Sat set sat_handoff_int_ 10
HandoffManager/Sat set latitude_threshold_ 60
HandoffManager/Sat set longitude_threshold_ 10
HandoffManager set handoff_randomization_ false
SatRouteObject set metric_delay_ true
SatRouteObject set data_driven_computation_ false
Agent set ttl_ 32

remove-all-packet-headers
add-packet-header Common Flags IP LL Mac TCP
set ns [new Simulator]
$ns rtproto Dummy
$ns node-config -satNodeType polar -llType LL/Sat -ifqType Queue/DropTail -ifqLen $queue -macType Mac/Sat \
    -phyType Phy/Sat -channelType Channel/Sat -downlinkBW $gsl_rate -wiredRouting OFF

# Odd planes are ahead of even ones by half of the spacing in a plane.
for {set p 0} {$p < $planes} {incr p} {
    for {set s 0} {$s < $per_plane} {incr s} {
        set sat($p,$s) [$ns node]
        set alpha [expr {360.0 / $per_plane * ($s + ($p % 2) / 2.0)}]
        $sat($p,$s) set-position $altitude $inclination [expr {$plane_spacing * $p}] $alpha [expr {$p + 1}]
    }
}
for {set p 0} {$p < $planes} {incr p} {
    for {set s 0} {$s < $per_plane} {incr s} {
        # Satellites come over the horizon in descending order of their place in the plane.
        $sat($p,$s) set_next $sat($p,[expr {($s + $per_plane - 1) % $per_plane}])
        $ns add-isl intraplane $sat($p,$s) $sat($p,[expr {($s + 1) % $per_plane}]) $isl_rate Queue/DropTail $queue
        if {$p + 1 < $planes} {
            $ns add-isl interplane $sat($p,$s) $sat([expr {$p + 1}],$s) $isl_rate Queue/DropTail $queue
        }
    }
}

$ns node-config -satNodeType terminal
proc station {latitude longitude} {
    global ns sat gsl_rate queue
    set node [$ns node]
    $node set-position $latitude $longitude
    $node add-gsl polar LL/Sat Queue/DropTail $queue Mac/Sat $gsl_rate Phy/Sat \
        [$sat(0,0) set downlink_] [$sat(0,0) set uplink_]
    return $node
}
set berkeley [station 37.9 -122.3]
set chennai [station 13.04 80.17]
set routes [new SatRouteObject]
$routes compute_routes

for {set i 0} {$i < $option(flows)} {incr i} {
    set tcp [new Agent/TCP/Reno]
    $tcp set packetSize_ $option(mss)
    $tcp set window_ $option(window)
    $ns attach-agent $berkeley $tcp
    set sink [new Agent/TCPSink]
    $ns attach-agent $chennai $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at $option(start) "$ftp start"
    lappend senders $tcp
}

proc finish {} {
    global option senders
    set acknowledged 0
    foreach tcp $senders {
        set highest [$tcp set ack_]
        if {$highest > 0} { incr acknowledged $highest }
    }
    set file [open /proc/self/schedstat]
    set cpu [expr {[lindex [read $file] 0] / 1e9}]
    close $file
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $file] all kib
    close $file
    set goodput [expr {8.0 * $acknowledged * $option(mss) / ($option(duration) - $option(start))}]
    puts "{\"cpu_s\": $cpu, \"peak_rss_kib\": $kib, \"packet_hops\": null, \"goodput_bps\": $goodput,\
          \"queue_mean_packets\": null}"
    exit 0
}
$ns at $option(duration) finish
$ns run
