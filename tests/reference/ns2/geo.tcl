# Fifteen satellite and fifteen terrestrial transfers and a UDP flow behind one bottleneck of 2 Mbit/s for ns-2 2.35: the
# network of studies/geo-terrestrial with up- and downlink as wires of 20 Mbit/s. Called with name=value pairs:
#   agent     TCP/Reno, … of both groups; packets of 1000 B
#   window    window_ of the senders; queue: that of the bottleneck; both in packets
#   overhead  overhead_ of the senders in s; random: random_ of the UDP flow (1 Mbit/s, 1000 B)
#   phase     length of each of the three phases in s
#   up, down  delays from Palermo to the satellite and on to Houston in s; half a millisecond decides with senders in step
#   seed      of the default generator
# Prints for each of the three phases the shares of the 2 Mbit/s, in per cent, of satellite, terrestrial and UDP.
array set o {agent TCP/Reno window 20 queue 50 overhead 0.004 random 1 phase 500 up 0.130652 down 0.133080 seed 1}
source [file join [file dirname [info script]] options.tcl]
$defaultRNG seed $o(seed)
set ns [new Simulator]
foreach node {a b left right t palermo satellite houston} { set $node [$ns node] }
foreach {x y rate delay} [list $a $left 20Mb 10ms $b $left 20Mb 10ms $left $right 2Mb 10ms $right $t 20Mb 10ms \
        $right $palermo 20Mb 10ms $palermo $satellite 20Mb $o(up) $satellite $houston 20Mb $o(down)] {
    $ns duplex-link $x $y $rate $delay DropTail
}
$ns queue-limit $left $right $o(queue)
$ns queue-limit $right $left $o(queue)
proc transfers {name from to start} {
    global ns o tcp
    set class TCPSink
    if {[lsearch {TCP/Sack1 TCP/Fack TCP/Linux} $o(agent)] >= 0} { set class TCPSink/Sack1 }
    for {set i 0} {$i < 15} {incr i} {
        set tcp($name,$i) [new Agent/$o(agent)]
        set one $tcp($name,$i)
        $one set window_ $o(window)
        $one set packetSize_ 1000
        $one set overhead_ $o(overhead)
        if {$o(agent) == "TCP/Linux"} { $ns at 0 "$one select_ca westwood" }
        set sink [new Agent/$class]
        $ns attach-agent $from $one
        $ns attach-agent $to $sink
        $ns connect $one $sink
        set ftp [new Application/FTP]
        $ftp attach-agent $one
        $ns at $start "$ftp start"
    }
}
transfers sat $a $houston 0
transfers terr $b $t $o(phase)
set udp [new Agent/UDP]
set monitor [new Agent/LossMonitor]
$ns attach-agent $b $udp
$ns attach-agent $t $monitor
$ns connect $udp $monitor
set cbr [new Application/Traffic/CBR]
$cbr set packetSize_ 1000
$cbr set rate_ 1Mb
$cbr set random_ $o(random)
$cbr attach-agent $udp
$ns at [expr 2 * $o(phase)] "$cbr start"

proc acked {name} {
    global tcp
    set sum 0
    for {set i 0} {$i < 15} {incr i} { incr sum [$tcp($name,$i) set ack_] }
    return $sum
}
# ack_ is -1 before the first packet.
set seen {-15 -15 0}
proc note {} {
    global o seen monitor
    set now [list [acked sat] [acked terr] [expr [$monitor set bytes_] / 1000]]
    set line "$o(agent) $o(seed)"
    foreach before $seen after $now {
        append line [format " %.2f" [expr ($after - $before) * 8000 / (20000.0 * $o(phase))]]
    }
    puts $line
    set seen $now
}
$ns at $o(phase) note
$ns at [expr 2 * $o(phase)] note
$ns at [expr 3 * $o(phase)] "note; exit 0"
$ns run
