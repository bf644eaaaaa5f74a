# A dumbbell for ns-2 2.35, as cases/README.md describes it. Called by make.py with name=value pairs:
#   agents  what flow i runs is entry i modulo their number: TCP/Reno, or Linux:cubic for TCP/Linux
#   starts  start times in s, one per flow
#   rate delay limit  of the bottleneck; access_rate access_delay of both ends
#   window size       window_ and packetSize_
#   packets           length of a transfer; 0: endless
#   delack            interval_ of a delaying sink; empty: an ACK per packet
#   lose lose_acks    packets that the bottleneck loses, counted from 0
#   loss seed         probability of a random loss; seed of the default generator
#   until trace windows  end of the run; files for the packets and for cwnd_ and ssthresh_
#   counters          file for the senders' own counters
#   acks              1: the way of ACKs is in the file for the packets, too
array set o {packets 0 delack "" lose "" lose_acks "" loss 0 seed 1 acks 0}
source [file join [file dirname [info script]] options.tcl]
$defaultRNG seed $o(seed)
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns duplex-link $left $right $o(rate) $o(delay) DropTail
$ns queue-limit $left $right $o(limit)
$ns queue-limit $right $left $o(limit)
set packets [open $o(trace) w]
set windows [open $o(windows) w]

proc lossy {from to list} {
    global ns
    set model [new ErrorModel/List]
    $model droplist $list
    $ns link-lossmodel $model $from $to
}
if {$o(lose) != ""} { lossy $left $right $o(lose) }
if {$o(lose_acks) != ""} { lossy $right $left $o(lose_acks) }
if {$o(loss) > 0} {
    set model [new ErrorModel]
    $model set rate_ $o(loss)
    $model unit pkt
    $model ranvar [new RandomVariable/Uniform]
    $model drop-target [new Agent/Null]
    $ns link-lossmodel $model $left $right
}

set n 0
foreach start $o(starts) {
    set source [$ns node]
    set sink [$ns node]
    foreach {edge router} [list $source $left $sink $right] {
        $ns duplex-link $edge $router $o(access_rate) $o(access_delay) DropTail
        $ns queue-limit $edge $router 1000000
        $ns queue-limit $router $edge 1000000
    }
    set agent [split [lindex $o(agents) [expr $n % [llength $o(agents)]]] :]
    set kind [lindex $agent 0]
    if {$kind == "Linux"} { set kind TCP/Linux }
    set tcp($n) [new Agent/$kind]
    set class TCPSink
    if {$kind == "TCP/Sack1" || $kind == "TCP/Fack" || $kind == "TCP/Linux"} { set class TCPSink/Sack1 }
    if {$o(delack) != ""} { set class $class/DelAck }
    set end($n) [new Agent/$class]
    if {$o(delack) != ""} { $end($n) set interval_ $o(delack) }
    $tcp($n) set window_ $o(window)
    $tcp($n) set packetSize_ $o(size)
    $tcp($n) set fid_ $n
    $ns attach-agent $source $tcp($n)
    $ns attach-agent $sink $end($n)
    $ns connect $tcp($n) $end($n)
    if {$kind == "TCP/Linux"} { $ns at 0 "$tcp($n) select_ca [lindex $agent 1]" }
    set ftp($n) [new Application/FTP]
    $ftp($n) attach-agent $tcp($n)
    if {$o(packets) > 0} {
        $ns at $start "$tcp($n) advance $o(packets)"
    } else {
        $ns at $start "$ftp($n) start"
    }
    $ns trace-queue $source $left $packets
    if {$n == 0} {
        $ns trace-queue $left $right $packets
        if {$o(acks)} { $ns trace-queue $right $left $packets }
        $tcp(0) attach $windows
        $tcp(0) trace cwnd_
        $tcp(0) trace ssthresh_
    }
    $ns trace-queue $right $sink $packets
    if {$o(acks)} { $ns trace-queue $sink $right $packets }
    $ns trace-queue $left $source $packets
    incr n
}

proc finish {} {
    global ns packets windows tcp n o
    $ns flush-trace
    close $packets
    close $windows
    set counters [open $o(counters) w]
    for {set i 0} {$i < $n} {incr i} {
        set t $tcp($i)
        puts $counters "[$t set ndatapack_] [$t set nrexmitpack_] [$t set nrexmit_] [$t set ncwndcuts_]"
    }
    close $counters
    exit 0
}
$ns at $o(until) finish
$ns run
