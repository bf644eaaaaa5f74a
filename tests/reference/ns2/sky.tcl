# ns-2's Iridium with a terminal in Berkeley (node 66) and one in Chennai (67), every packet traced in the file $path. Sourced; sets ns, sat,
# berkeley, chennai, path and packets. What the script wants otherwise it sets before.
HandoffManager/Term set elevation_mask_ 8.2
HandoffManager/Term set term_handoff_int_ 10
HandoffManager/Sat set sat_handoff_int_ 10
HandoffManager/Sat set latitude_threshold_ 60
HandoffManager/Sat set longitude_threshold_ 10
HandoffManager set handoff_randomization_ 0
SatRouteObject set metric_delay_ true
set ns [new Simulator]
$ns rtproto Dummy
set path /tmp/sky-[pid].tr
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
