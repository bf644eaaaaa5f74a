# Which way packets take in ns-2's Iridium of studies/iridium-vegas-reno-bic, and how long they need: one small packet per
# second and direction between Berkeley (node 66) and Chennai (67). Prints time, source, delay in ms and the satellites.
#   ns iridium.tcl
HandoffManager/Term set elevation_mask_ 8.2
HandoffManager/Term set term_handoff_int_ 10
HandoffManager/Sat set sat_handoff_int_ 10
HandoffManager/Sat set latitude_threshold_ 60
HandoffManager/Sat set longitude_threshold_ 10
HandoffManager set handoff_randomization_ 0
SatRouteObject set metric_delay_ true
SatRouteObject set data_driven_computation_ false
set ns [new Simulator]
$ns rtproto Dummy
set path /tmp/iridium-[pid].tr
set packets [open $path w]
$ns trace-all $packets
set layers {LL/Sat Queue/DropTail 50 Mac/Sat 1.5Mb Phy/Sat}
$ns node-config -satNodeType polar -llType LL/Sat -ifqType Queue/DropTail -ifqLen 50 -macType Mac/Sat -phyType Phy/Sat \
    -channelType Channel/Sat -downlinkBW 1.5Mb -wiredRouting OFF
proc number {plane place} { expr {$plane * 11 + ($place + 11) % 11} }
for {set plane 0} {$plane < 6} {incr plane} {
    for {set place 0} {$place < 11} {incr place} {
        set sat([number $plane $place]) [$ns node]
        set along [expr 360.0 / 11 * $place + ($plane % 2) * 360.0 / 22]
        $sat([number $plane $place]) set-position 780 86.4 [expr 31.6 * $plane] $along [expr $plane + 1]
    }
}
for {set plane 0} {$plane < 6} {incr plane} {
    for {set place 0} {$place < 11} {incr place} {
        set here $sat([number $plane $place])
        $here set_next $sat([number $plane [expr $place - 1]])
        $ns add-isl intraplane $here $sat([number $plane [expr $place + 1]]) 25Mb Queue/DropTail 50
        if {$plane < 5} {
            $ns add-isl interplane $here $sat([number [expr $plane + 1] $place]) 25Mb Queue/DropTail 50
        }
    }
}
$ns node-config -satNodeType terminal
foreach {name latitude longitude} {berkeley 37.9 -122.3 chennai 13.04 80.17} {
    set $name [$ns node]
    [set $name] set-position $latitude $longitude
    eval [set $name] add-gsl polar $layers [$sat(0) set downlink_] [$sat(0) set uplink_]
}
$ns trace-all-satlinks $packets
foreach {from to} [list $berkeley $chennai $chennai $berkeley] {
    set source [new Agent/UDP]
    set sink [new Agent/Null]
    $source set packetSize_ 40
    $source set ttl_ 32
    $ns attach-agent $from $source
    $ns attach-agent $to $sink
    $ns connect $source $sink
    set traffic [new Application/Traffic/CBR]
    $traffic attach-agent $source
    $traffic set packetSize_ 40
    $traffic set interval_ 1.0
    $ns at 1 "$traffic start"
}
[new SatRouteObject] compute_routes

proc report {} {
    global path packets
    close $packets
    set lines [open $path]
    while {[gets $lines line] >= 0} {
        foreach {event time from to kind size flags flow source sink seq id} $line break
        if {$event == "+" && $from >= 66} { set left($id) $time; set way($id) {} }
        if {$event == "r" && [info exists left($id)]} {
            if {$to < 66} { lappend way($id) $to }
            if {$to >= 66} {
                puts [format "%5.1f %s %.1f %s" $left($id) [expr int($source)] [expr 1000 * ($time - $left($id))] $way($id)]
            }
        }
    }
    file delete $path
    exit 0
}
$ns at 76.5 report
$ns run
