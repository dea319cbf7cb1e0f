#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs one molecule scenario on a lab of its own: molecule.sh TREE SCENARIO
# Its last lines say how many proofs hold, or what does not.
set -euo pipefail

scenario=$2
cd "$1"
export NO_COLOR=1 PY_COLORS=0 ANSIBLE_NOCOLOR=1 GB10_LAB=mol-${scenario//_/-}
# the lab's own program starts some hundred times
unset PYTHONDONTWRITEBYTECODE
# a folder of this run's own: what an interrupted run left would say that the lab is up
MOLECULE_EPHEMERAL_DIRECTORY=$(mktemp -d) GB10_PROOFS=$(mktemp)
export MOLECULE_EPHEMERAL_DIRECTORY GB10_PROOFS
trap 'rm -rf "$MOLECULE_EPHEMERAL_DIRECTORY" "$GB10_PROOFS"' EXIT
status=0
molecule test --scenario-name "$scenario" --report --no-command-borders || status=$?
echo
cut -c 1-600 "$GB10_PROOFS"
exit $status
