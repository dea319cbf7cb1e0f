#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs one molecule scenario on a lab of its own: molecule.sh TREE SCENARIO
# Its last lines say what did not hold.
set -euo pipefail

scenario=$2
cd "$1"
export NO_COLOR=1 PY_COLORS=0 ANSIBLE_NOCOLOR=1 GB10_LAB=mol-${scenario//_/-}
# a folder of this run's own: what an interrupted run left would say that the lab is up
MOLECULE_EPHEMERAL_DIRECTORY=$(mktemp -d) GB10_REFUTED=$(mktemp)
export MOLECULE_EPHEMERAL_DIRECTORY GB10_REFUTED
trap 'rm -rf "$MOLECULE_EPHEMERAL_DIRECTORY" "$GB10_REFUTED"' EXIT
status=0
molecule test --scenario-name "$scenario" --report --no-command-borders || status=$?
# the proofs go on after one that does not hold
if [ -s "$GB10_REFUTED" ]; then
    echo
    cut -c 1-600 "$GB10_REFUTED"
fi
[ $status -ne 0 ] || grep -c '^  - title:' "extensions/molecule/$scenario/vars/proofs.yml" | sed 's/$/ proofs hold/'
exit $status
