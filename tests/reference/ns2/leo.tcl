# NewReno over ns-2's Iridium of studies/been-packet-size, with errors per byte of data in front of the receiver. Prints what the
# sender counts, in packets and in bytes on the wire (ns-2's own byte counters know no headers, and of the SYN nothing).
#   ns leo.tcl PAYLOAD RATE SEED [SKIPPED [sends]]     with "sends" each departure, too: time, number, size
# After a small seed some of the first numbers of ns-2's generator are near zero (seeds 1 to 3: the first below 0.0011, the third below
# 0.05), so that the SYN is lost two or three times in these runs, unless the first numbers are SKIPPED.
# Prints payload, seed, packets sent, sent again and arrived, bytes sent and sent again, both efficiencies (packets, bytes), information
# efficiency.
foreach {payload rate seed skipped sends} [concat $argv 0 {}] break
set wants_sends [expr {$sends == "sends"}]
Agent/TCP set packetSize_ $payload
HandoffManager/Term set elevation_mask_ 8.2
HandoffManager/Term set term_handoff_int_ 10
HandoffManager/Sat set sat_handoff_int_ 10
HandoffManager/Sat set latitude_threshold_ 60
HandoffManager/Sat set longitude_threshold_ 10
HandoffManager set handoff_randomization_ 0
SatRouteObject set metric_delay_ true
SatRouteObject set data_driven_computation_ true
$defaultRNG seed $seed
for {set i 0} {$i < $skipped} {incr i} { $defaultRNG uniform 0 1 }
set ns [new Simulator]
$ns rtproto Dummy
set path /tmp/leo-[pid].tr
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
set errors [new ErrorModel]
$errors unit byte
$errors set rate_ $rate
$errors ranvar [new RandomVariable/Uniform]
$chennai interface-errormodel $errors
$ns trace-all-satlinks $packets
set tcp [new Agent/TCP/Newreno]
set sink [new Agent/TCPSink]
$ns attach-agent $berkeley $tcp
$ns attach-agent $chennai $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 1 "$ftp start"
[new SatRouteObject] compute_routes

proc report {} {
    global path packets tcp payload seed wants_sends berkeley chennai
    close $packets
    set arrived 0
    set lines [open $path]
    while {[gets $lines line] >= 0} {
        foreach {event time from to kind size flags flow source sink number id} $line break
        if {$kind != "tcp"} continue
        if {$wants_sends && $event == "+" && $from == [$berkeley id]} { puts "$time $number $size" }
        if {$event == "r" && $to == [$chennai id]} { incr arrived }
    }
    file delete $path
    set sent [$tcp set ndatapack_]
    set again [$tcp set nrexmitpack_]
    set sent_bytes [expr [$tcp set ndatabytes_] + 40 * $sent]
    set again_bytes [expr [$tcp set nrexmitbytes_] + 40 * $again]
    puts [format "%d,%d,%d,%d,%d,%d,%d,%.4f,%.4f,%.4f" $payload $seed $sent $again $arrived $sent_bytes $again_bytes \
        [expr 1 - double($again) / $sent] [expr 1 - double($again_bytes) / $sent_bytes] \
        [expr double($payload) / ($payload + 40) * $arrived / $sent]]
    exit 0
}
$ns at 200 report
$ns run
