#!/bin/sh
# Ends the tasks of a worker program that died without doing so itself.
#
# Standard input is a pipe that only the worker holds open, so it ends when the worker does, however that happens.
# Until then the worker says on it what to look for:
#   = TEXT    the environment of each process of its tasks contains this
#   @ FOLDER  its tasks are in the control groups below this one
#   + ID      a process group runs
#   - ID      it is gone

# Whoever ends the worker in an orderly way may signal all processes around it; this one stays until the pipe ends.
trap '' HUP INT TERM

mark= cells= groups=' '
while read -r change what; do
  case $change$groups in
    =*) mark=$what ;;
    @*) cells=$what ;;
    +*) groups="$groups$what " ;;
    -*" $what "*) groups="${groups%% "$what" *} ${groups#* "$what" }" ;;
  esac
done
[ -n "$mark" ] || exit 0

for id in $groups; do kill -KILL "-$id" 2>/dev/null; done

# What left its group and its environment is in a control group all the same.
cells_left() {
  [ -d "$cells" ] || return 1
  # Kernels from 5.14 on kill a whole tree at once.
  { echo 1 >"$cells/cgroup.kill"; } 2>/dev/null
  for list in "$cells"/cgroup.procs "$cells"/*/cgroup.procs "$cells"/*/*/cgroup.procs; do
    [ -f "$list" ] || continue
    while read -r id; do kill -KILL "$id" 2>/dev/null; done <"$list"
  done
  rmdir "$cells"/*/*/*/ "$cells"/*/*/ "$cells"/*/ "$cells" 2>/dev/null
  [ -d "$cells" ]
}

# What left its group: by the environment of each process, as the system shows it.
marked() {
  if [ -e /proc/self/environ ]; then
    found=$(grep -lF -- "$mark" /proc/[0-9]*/environ 2>/dev/null)
    for file in $found; do file=${file#/proc/}; echo "${file%/environ}"; done
  else
    ps axeww -o pid=,command= 2>/dev/null | while read -r id command; do
      case " $command" in *" $mark"*) echo "$id" ;; esac
    done
  fi
}

# Again until nothing is left, for what was forked meanwhile.
round=0
while [ $round -lt 50 ]; do
  found=$(marked)
  cells_left || [ -n "$found" ] || exit 0
  for id in $found; do kill -KILL "$id" 2>/dev/null; done
  round=$((round + 1))
  sleep 0.1
done
