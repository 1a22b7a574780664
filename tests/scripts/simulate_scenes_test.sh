#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/bench/simulate_scenes: which commands it runs, with a program that only writes down its
# arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

cat >"$folder/voxloc" <<'STUB'
#!/usr/bin/env bash
echo "$*" >>"$CALLS"
out=${!#}
mkdir -p "$out"
echo '  "complete": true,' >"$out/simulation.json"
STUB
chmod +x "$folder/voxloc"
export CALLS=$folder/calls

# expect NAME ACTUAL EXPECTED
expect() {
  if [[ $2 == "$3" ]]; then
    echo "ok $1"
  else
    printf 'FAILED %s: got "%s", expected "%s"\n' "$1" "$2" "$3"
    failures=$((failures + 1))
  fi
}

# run ARGUMENTS...: the exit status.
run() {
  local status=0
  tests/bench/simulate_scenes --voxloc "$folder/voxloc" "$@" >"$folder/output" 2>&1 || status=$?
  echo "$status"
}

: >"$CALLS"
expect "the whole list succeeds" "$(run choosing "$folder/all")" 0
expect "each line is a data set" "$(wc -l <"$CALLS")" \
  "$(grep -vc '^#' tests/bench/scenes/choosing.txt)"
: >"$CALLS"
expect "a complete list succeeds" "$(run choosing "$folder/all")" 0
expect "complete data sets are left as they are" "$(wc -l <"$CALLS")" 0
expect "a part succeeds" "$(run judging "$folder/part" --scans 7 --only clean-garage)" 0
expect "a part has its data sets only" "$(wc -l <"$CALLS")" 1
expect "the number of scans is replaced" "$(grep -c -- '--scans 7 ' "$CALLS")" 1
printf '# two\nnear-1 --scene town --seed 1\nfar-2 --scene town --seed 2\n' >"$folder/own.txt"
: >"$CALLS"
expect "a list of one's own succeeds" "$(run "$folder/own.txt" "$folder/own" -- --odometry)" 0
expect "flags after -- are those of each data set" "$(cat "$CALLS")" \
  "simulate --scene town --seed 1 --odometry --force $folder/own/near-1
simulate --scene town --seed 2 --odometry --force $folder/own/far-2"
expect "an unknown list is refused" "$(run looking "$folder/x")" 2
expect "a name without data sets is refused" "$(run judging "$folder/x" --only castle)" 2
expect "a wrong number is refused" "$(run judging "$folder/x" --scans many)" 2
expect "the refusal names what was given" "$(grep -c "got 'many'" "$folder/output")" 1
exit "$((failures > 0))"
