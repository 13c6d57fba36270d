#!/bin/sh
# Ends the tasks of a worker program that died without doing so itself.
#
# Standard input is a pipe that only the worker holds open, so it ends when the worker does, however that happens.
# Until then the worker says on it which process groups run: "+ ID", and "- ID" once a group is gone.
# $1 is what the environment of each process of its tasks contains.

# Whoever ends the worker in good order may signal all processes around it; the guard stays until the pipe ends.
trap '' HUP INT TERM

groups=' '
while read -r change id; do
  case $change$groups in
    +*) groups="$groups$id " ;;
    -*" $id "*) groups="${groups%% "$id" *} ${groups#* "$id" }" ;;
  esac
done

for id in $groups; do kill -KILL "-$id" 2>/dev/null; done

# Where there is a /proc: also what left its group. Again until nothing is left, for what was forked meanwhile.
round=0
while [ $round -lt 50 ]; do
  found=$(grep -lF -- "$1" /proc/[0-9]*/environ 2>/dev/null)
  [ -n "$found" ] || exit 0
  for file in $found; do
    id=${file#/proc/}
    kill -KILL "${id%/environ}" 2>/dev/null
  done
  round=$((round + 1))
  sleep 0.1
done
