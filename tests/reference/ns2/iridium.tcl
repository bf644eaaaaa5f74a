# Which way packets take in ns-2's Iridium of studies/iridium-vegas-reno-bic, and how long they need: one small packet per
# second and direction between Berkeley (node 66) and Chennai (67). Prints time, source, delay in ms and the satellites.
#   ns iridium.tcl
SatRouteObject set data_driven_computation_ false
source [file join [file dirname [info script]] sky.tcl]
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
