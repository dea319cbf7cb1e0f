#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints what became of the gates, and fails unless each passed or was skipped: summary.sh NAME...
set -euo pipefail

declare -A count=([passed]=0 [failed]=0 [skipped]=0)

printf '\n%-14s %-8s %6s  %s\n' gate result 'time' 'closing line'
for name in "$@"; do
    result=failed seconds=- closing="did not run: what it needs could not be made, see above"
    if [ -f ".build/gates/$name.result" ]; then
        IFS=$'\t' read -r result seconds closing <".build/gates/$name.result"
    fi
    count[$result]=$((count[$result] + 1))
    printf '%-14s %-8s %4s s  %.150s\n' "$name" "$result" "$seconds" "$closing"
done
printf 'all gates: %d s\n\n' "$SECONDS_SINCE_BEGIN"
printf 'gates: %d passed, %d failed, %d skipped\n' "${count[passed]}" "${count[failed]}" "${count[skipped]}"
[ "${count[failed]}" -eq 0 ]
