# Name=value pairs of the command line, into the array o. Sourced, after o has what holds without them.
foreach pair $argv {
    set at [string first = $pair]
    set o([string range $pair 0 [expr $at - 1]]) [string range $pair [expr $at + 1] end]
}
