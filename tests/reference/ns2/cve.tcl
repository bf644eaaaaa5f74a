# Collaborators behind one bottleneck for ns-2 2.35: the network of studies/cve-cloud. Called with name=value pairs:
#   agent    TCP/Reno, TCP/Vegas, … of the typing users
#   users    how many; Telnet with tcplib's gaps (interval_ 0), packets of 552 B, window_ 8000
#   cbr      constant-rate sources over UDP with ns-2's default of 448 kbit/s, packets of 200 B
#   random   random_ of these sources: 0, ns-2's default, or 1
#   seed     of the default generator
# Prints what arrived of the users' data for the first time, and of the sources', in kbit/s over 40 s.
array set o {agent TCP/Reno users 200 cbr 2 random 0 seed 1}
source [file join [file dirname [info script]] options.tcl]
$defaultRNG seed $o(seed)
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right 2Mb 50ms DropTail
$ns queue-limit $left $right 100
$ns queue-limit $right $left 100
set servers {}
for {set i 0} {$i < [expr $o(users) / 100]} {incr i} {
    set server [$ns node]
    $ns duplex-link $right $server 10Mb 10ms DropTail
    $ns queue-limit $right $server 100000
    lappend servers $server
}
proc user {} {
    global ns left
    set source [$ns node]
    $ns duplex-link $source $left 10Mb 10ms DropTail
    $ns queue-limit $source $left 100000
    return $source
}
for {set i 0} {$i < $o(users)} {incr i} {
    set tcp($i) [new Agent/$o(agent)]
    $tcp($i) set packetSize_ 552
    $tcp($i) set window_ 8000
    set class TCPSink
    if {[lsearch {TCP/Sack1 TCP/Fack TCP/Linux} $o(agent)] >= 0} { set class TCPSink/Sack1 }
    set sink($i) [new Agent/$class]
    $ns attach-agent [user] $tcp($i)
    $ns attach-agent [lindex $servers [expr $i % [llength $servers]]] $sink($i)
    $ns connect $tcp($i) $sink($i)
    set telnet [new Application/Telnet]
    $telnet attach-agent $tcp($i)
    $telnet set interval_ 0
    $ns at 0 "$telnet start"
}
for {set i 0} {$i < $o(cbr)} {incr i} {
    set udp [new Agent/UDP]
    set monitor($i) [new Agent/LossMonitor]
    $ns attach-agent [user] $udp
    $ns attach-agent [lindex $servers [expr $i % [llength $servers]]] $monitor($i)
    $ns connect $udp $monitor($i)
    set cbr [new Application/Traffic/CBR]
    $cbr set packetSize_ 200
    $cbr set random_ $o(random)
    $cbr attach-agent $udp
    $ns at 0 "$cbr start"
}
proc finish {} {
    global tcp monitor o
    set users 0.0
    for {set i 0} {$i < $o(users)} {incr i} {
        # What is acknowledged has arrived; the SYN is number 0.
        set users [expr $users + [$tcp($i) set ack_]]
    }
    set steady 0.0
    for {set i 0} {$i < $o(cbr)} {incr i} { set steady [expr $steady + [$monitor($i) set bytes_]] }
    puts "$o(agent) $o(users) $o(cbr) $o(random) $o(seed) [expr $users * 552 * 8 / 40000.0] [expr $steady * 8 / 40000.0]"
    exit 0
}
$ns at 40 finish
$ns run
