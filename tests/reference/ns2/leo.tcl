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
SatRouteObject set data_driven_computation_ true
$defaultRNG seed $seed
for {set i 0} {$i < $skipped} {incr i} { $defaultRNG uniform 0 1 }
source [file join [file dirname [info script]] sky.tcl]
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
