#!/bin/sh
# Job type flood.run: writes as many bytes of log as its parameters say, half of them without a line's end.
while [ $# -gt 1 ]; do case $1 in --task-file) task=$2 ;; --result-file) result=$2 ;; esac; shift 2; done
half=$(sed -n 's/.*"half": *\([0-9]*\).*/\1/p' "$task")
yes 'one line of a log that goes on and on, as a program writes it that was left in a verbose mode' | head -c "$half"
tr '\0' 'z' </dev/zero | head -c "$half" >&2
echo '{"status": "succeeded"}' >"$result"
