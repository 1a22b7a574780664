#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/count-tests: what ctest and GoogleTest wrote, in; the right sums and exit status, out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
fail() { echo "FAILED $1"; failures=$((failures + 1)); }

# The elements of standard input as the whole file that ctest writes.
junit() {
  { printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="t">\n'; cat; printf '</testsuite>\n'; } \
    >"$folder/ctest.junit"
}

# expect NAME STATUS LAST_LINE: runs the count on what lies in $folder.
expect() {
  local status=0 output last
  output=$(scripts/count-tests --summary "$folder/sums" "$folder/ctest.junit" \
    "$folder/programs" "$folder" 2>&1) || status=$?
  last=$(tail -n 1 <<<"$output")
  if [[ $status != "$2" || $last != "$3" ]]; then
    fail "$1: status $status (expected $2), last line \"$last\" (expected \"$3\")"$'\n'"$output"
  else
    echo "ok $1"
  fi
}

# entry NAME STATUS [MESSAGE] [SECONDS]: one element of ctest's file, as ctest lays it out.
entry() {
  printf '\t<testcase name="%s" classname="%s" time="%s" status="%s">\n' "$1" "$1" "${4-0.1}" "$2"
  if [[ $2 == fail ]]; then printf '\t\t<failure message=""/>\n'; fi
  if [[ -n ${3-} ]]; then printf '\t\t<skipped message="%s"/>\n' "$3"; fi
  printf '\t\t<system-out>&lt;testcase name="printed"&gt;</system-out>\n\t</testcase>\n'
}

cat >"$folder/good.xml" <<'EOF'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="0" disabled="0" errors="0" time="0" name="AllTests">
  <testsuite name="A" tests="2" failures="0" disabled="0" skipped="0" errors="0" time="0">
    <testcase name="One" file="t.cc" line="4" status="run" result="completed" time="0" classname="A" />
    <testcase name="Two" file="t.cc" line="5" status="run" result="completed" time="0" classname="A">
      <properties>
        <property name="k" value="v"/>
      </properties>
    </testcase>
  </testsuite>
</testsuites>
EOF
cat >"$folder/mixed.xml" <<'EOF'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="4" failures="1" disabled="1" errors="0" time="0" name="AllTests">
  <testsuite name="B" tests="4" failures="1" disabled="1" skipped="1" errors="0" time="0">
    <testcase name="Fails" status="run" result="completed" time="0" classname="B">
      <failure message="t.cc:5&#x0A;a" type=""><![CDATA[t.cc:5
    <testcase name="not a case" status="run" result="completed" classname="B" />
]]>]]&gt;<![CDATA[ more
    <failure message="not a failure">
]]></failure>
      <failure message="t.cc:6&#x0A;a second one in the same case" type=""><![CDATA[b]]></failure>
    </testcase>
    <testcase name="Passes" status="run" result="completed" time="0" classname="B" />
    <testcase name="Skips" status="run" result="skipped" time="0" classname="B">
      <skipped message="t.cc:7&#x0A;no data in &quot;HERE&quot; &amp; now"><![CDATA[t.cc:7
no data in "HERE" & now]]></skipped>
    </testcase>
    <testcase name="DISABLED_Off" status="notrun" result="suppressed" time="0" classname="B" />
  </testsuite>
</testsuites>
EOF
head -n 4 "$folder/good.xml" >"$folder/cut_off.xml"
printf '%s\n' good mixed crashed cut_off >"$folder/programs"

entry good run | junit
expect "all cases pass" 0 "2 passed, 0 failed, 0 skipped"

{ entry good run; entry mixed fail; } | junit
expect "failed, skipped and disabled cases" 1 "3 passed, 1 failed, 2 skipped"
[[ $(cat "$folder/sums") == "3 1 2" ]] || fail "the summary file"
grep -qxF '  1: no data in "HERE" & now' \
  <<<"$(scripts/count-tests "$folder/ctest.junit" "$folder/programs" "$folder")" ||
  fail "the reason of a skip is not printed"

{ entry good run; entry crashed fail; } | junit
expect "a program without results is one failure" 1 "2 passed, 1 failed, 0 skipped"

{ entry good run; entry crashed run; } | junit
expect "also when it says that it succeeded" 1 "2 passed, 1 failed, 0 skipped"

{ entry good run; entry cut_off fail; } | junit
expect "half a result file is one failure" 1 "2 passed, 1 failed, 0 skipped"

entry good fail | junit
expect "a bad end after good cases is one failure" 1 "2 passed, 1 failed, 0 skipped"

{ entry shell run; entry other notrun 'SKIP_RETURN_CODE=77'; entry off disabled; } | junit
expect "entries that are no GoogleTest programs" 0 "1 passed, 0 failed, 2 skipped"

entry lost notrun 'Unable to find executable' | junit
expect "what could not be started failed" 1 "0 passed, 1 failed, 0 skipped"

entry other notrun 'SKIP_RETURN_CODE=77' | junit
expect "only skips is no success" 1 "0 passed, 0 failed, 1 skipped"

for i in 1 2 3 4 5 6 7 8 9 10 11; do entry "shell$i" run '' "$i.25"; done | junit
slowest=$(scripts/count-tests "$folder/ctest.junit" "$folder/programs" "$folder" | grep ' s  ')
if [[ $(head -n 1 <<<"$slowest") != *' 11.2 s  shell11' || $(tail -n 1 <<<"$slowest") != *' s  shell2' ||
  $(wc -l <<<"$slowest") != 10 ]]; then
  fail "the ten slowest: $slowest"
fi

entry good run '' 1.5 | junit
sed -i 's/name="One"/name="One\/cuda"/' "$folder/good.xml"
printf 'good core/engine\n' >"$folder/suites"
engines=$(scripts/count-tests --suites "$folder/suites.json" "$folder/ctest.junit" "$folder/suites" \
  "$folder" | grep '^cuda:\|^any')
row='{"suite": "core/engine", "program": "good", "engine": "cuda", "passed": 1, "failed": 0,'
if [[ $engines != 'cuda: 1 passed, 0 failed, 0 skipped'$'\n''any engine: 1 passed, 0 failed, 0 skipped' ]] ||
  ! grep -qF "$row \"skipped\": 0, \"seconds\": 1.5}" "$folder/suites.json"; then
  fail "the sums of each engine: $engines, $(cat "$folder/suites.json")"
fi

entry good run | junit
head -n 3 "$folder/ctest.junit" >"$folder/cut" && mv "$folder/cut" "$folder/ctest.junit"
expect "half of what ctest writes" 1 "0 passed, 0 failed, 0 skipped"

rm "$folder/ctest.junit"
expect "nothing ran" 1 "0 passed, 0 failed, 0 skipped"

exit $((failures > 0))
