#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs every molecule scenario on one lab: molecule.sh TREE
set -euo pipefail

cd "$1"
scenarios=(extensions/molecule/*/molecule.yml)
if [ ! -e "${scenarios[0]}" ]; then
    echo "extensions/molecule - expected a scenario, found none. Add extensions/molecule/NAME/molecule.yml."
    exit 1
fi
export NO_COLOR=1 PY_COLORS=0 ANSIBLE_NOCOLOR=1
# a folder of this run's own: what an interrupted run left would say that the lab is up
MOLECULE_EPHEMERAL_DIRECTORY=$(mktemp -d)
export MOLECULE_EPHEMERAL_DIRECTORY
trap 'rm -rf "$MOLECULE_EPHEMERAL_DIRECTORY"' EXIT
molecule test --all --report --no-command-borders
echo "${#scenarios[@]} molecule scenarios"
