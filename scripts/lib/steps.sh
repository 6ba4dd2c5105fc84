# Sourced by the scripts: runs a job as a list of steps, each shown as one line with its time.
#
#   steps_begin TOTAL LOG_DIR
#   step NAME COMMAND...      [2/4] NAME: <last line the command printed> (12 s)
#
# What a step prints goes to LOG_DIR/NAME.log; at a terminal its last line so far is shown meanwhile
# (steps_watching=no leaves that out, for a command that may ask for a password). A step that fails
# shows the end of its log and returns the command's exit status, so that `set -e` ends the script.

# Clones of the project in different places share what ccache holds.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

steps_begin() {
  steps_total=$1 steps_done=0 steps_logs=$2
  mkdir -p "$steps_logs"
}

# At a terminal, shows the last line of a growing log in place.
steps_watch() {
  local head=$1 log=$2 width line
  width=$(($(tput cols 2> /dev/null || echo 80) - ${#head} - 1))
  while sleep 0.5; do
    line=$(tail -c 400 "$log" 2> /dev/null | tr '\r' '\n' | tr -cd '[:print:]\n' | tail -n 1)
    printf '\r\033[K%s%s' "$head" "${line:0:width}"
  done
}

step() {
  local name=$1 log="$steps_logs/$1.log" head status=0 start=$SECONDS watcher='' note
  shift
  steps_done=$((steps_done + 1))
  head="[$steps_done/$steps_total] $name: "
  if [ -t 1 ] && [ "${steps_watching-}" != no ]; then
    printf '%s' "$head"
    steps_watch "$head" "$log" &
    watcher=$!
  fi
  "$@" > "$log" 2>&1 < /dev/null || status=$?
  if [ -n "$watcher" ]; then
    kill "$watcher" 2> /dev/null
    wait "$watcher" 2> /dev/null || true
    printf '\r\033[K'
  fi
  if [ "$status" -eq 0 ]; then
    note=$(tail -n 1 "$log")
    printf '%s%s (%d s)\n' "$head" "${note:-done}" $((SECONDS - start))
  else
    printf '%sfailed with status %d after %d s\n' "$head" "$status" $((SECONDS - start))
    tail -n 40 "$log" | sed 's/^/    /'
    printf 'The whole log: %s\n' "$log"
  fi
  return "$status"
}

# Configures a preset, unless its build folder is newer than the presets. (Ninja sees to the rest.)
configure() {  # PRESET
  if [ build/"$1"/build.ninja -nt CMakePresets.json ]; then
    echo "build/$1 is configured"
  else
    cmake --preset "$1" && echo "build/$1 configured now"
  fi
}

# Builds targets of a preset; no target: all.
build() {  # PRESET [TARGET...]
  local preset=$1
  shift
  ninja -C "build/$preset" "$@" && echo "${*:-everything} up to date"
}
