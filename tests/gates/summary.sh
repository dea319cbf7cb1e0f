#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints what became of the gates, and fails unless each passed or was skipped: summary.sh NAME...
# Who sees only the end of a long log sees why: the last lines of each gate that failed stand below the table.
set -euo pipefail

width=24
declare -A count=([passed]=0 [failed]=0 [skipped]=0)
failed=()

printf '\n%-*s %-8s %6s  %s\n' $width gate result 'time' 'closing line'
for name in "$@"; do
    result=failed seconds=- closing="did not run: what it needs could not be made, see above"
    if [ -f ".build/gates/$name.result" ]; then
        IFS=$'\t' read -r result seconds closing <".build/gates/$name.result"
    fi
    count[$result]=$((count[$result] + 1))
    [ "$result" != failed ] || failed+=("$name")
    printf '%-*s %-8s %4s s  %.150s\n' $width "$name" "$result" "$seconds" "$closing"
done
printf 'all gates: %d s\n\n' "$SECONDS_SINCE_BEGIN"
for name in "${failed[@]}"; do
    [ ! -e ".build/gates/$name.log" ] || printf '==== the end of .build/gates/%s.log:\n%s\n\n' "$name" "$(tail -n 12 ".build/gates/$name.log" | cut -c 1-400)"
done
printf 'gates: %d passed, %d failed, %d skipped\n' "${count[passed]}" "${count[failed]}" "${count[skipped]}"
[ "${count[failed]}" -eq 0 ]
