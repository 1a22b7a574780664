# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What .ci/run and scripts/nightly share: parts that are timed and counted, one after the other, and
# their sum as the last line. To be sourced by a script that is in the repository's root.

counts=$(mktemp -d)
trap 'rm -rf "$counts"' EXIT
passed=0 failed=0 skipped=0
times=()
current=

# part NAME COMMAND...: runs it, and adds the numbers that it leaves in the file $counts/NAME. A part
# that fails without having counted a failure (it did not build, say) is one failure; one that ends
# well without numbers is one that passed.
part() {
  local status=0 started=$SECONDS counted=(0 0 0)
  current=$1
  shift
  printf '\n=== %s: %s\n' "$current" "${*/#tests/scripts\/test}"
  "$@" </dev/null || status=$?
  if [[ -s $counts/$current ]]; then
    read -ra counted <"$counts/$current"
  elif ((status == 0)); then
    counted[0]=1
  fi
  if ((status != 0 && counted[1] == 0)); then
    echo "$current failed with exit status $status; see above" >&2
    counted[1]=1
  fi
  ((passed += counted[0], failed += counted[1], skipped += counted[2], 1))
  times+=("$(printf '%-14s %5d s  %5d passed %3d failed %4d skipped  %s' \
    "$current" $((SECONDS - started)) "${counted[@]}" "${*/#tests/scripts\/test}")")
}

# tests ARGUMENT...: scripts/test as the current part.
tests() { scripts/test "$@" --summary "$counts/$current"; }

# The table of the parts, each with the command that repeats it, and the sum.
print_sum() {
  printf '\nEach part with the command that repeats it:\n'
  printf '%s\n' "${times[@]}"
  printf '%-14s %5d s\n' together "$SECONDS"
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  ((failed == 0 && passed > 0))
}
