#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every shell script passes shellcheck. Skipped where shellcheck is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v shellcheck >/dev/null; then
  echo "shellcheck is not installed: scripts/install-dependencies --tools"
  exit 77
fi
scripts=()
while IFS= read -r file; do
  if head -n 1 "$file" | grep -qE '^#!.*\b(ba)?sh$'; then scripts+=("$file"); fi
done < <(find scripts .ci tests/scripts -type f)
shellcheck "${scripts[@]}"
echo "ok: ${#scripts[@]} scripts"
