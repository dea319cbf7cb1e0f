#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs one gate: gate.sh NAME COMMAND...
# Output goes to .build/gates/NAME.log and to the terminal; with QUIET set only when the gate fails.
# Exit status 77 of the command means "skipped, my last line says why" and counts as success here.
set -uo pipefail

name=$1
shift
folder=.build/gates
log=$folder/$name.log
mkdir -p "$folder"

say() { flock "$folder/terminal" printf "$@"; }

begin=$SECONDS
if [ -n "${QUIET:-}" ]; then
    say '%-24s begins\n' "$name"
    "$@" >"$log" 2>&1 </dev/null
else
    "$@" 2>&1 </dev/null | tee "$log"
fi
status=$?
seconds=$((SECONDS - begin))

case $status in
    0) result=passed ;;
    77) result=skipped status=0 ;;
    *) result=failed ;;
esac
closing=$(grep -v '^[[:space:]]*$' "$log" | tail -n 1)
printf '%s\t%s\t%s\n' "$result" "$seconds" "$closing" >"$folder/$name.result"

if [ "$result" = failed ] && [ -n "${QUIET:-}" ]; then
    say '\n======== %s failed (status %s); the end of %s:\n%s\n======== %s\n\n' \
        "$name" "$status" "$log" "$(tail -n 400 "$log")" "$name"
fi
say '%-24s %s %4d s  %s\n' "$name" "$result" "$seconds" "$closing"
exit "$status"
