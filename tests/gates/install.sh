#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs the tarball into an empty folder and plans a sample inventory of each topology from there, by name: install.sh TARBALL
# Nothing of the checkout is in reach, so a file that the tarball lacks is missed.
set -euo pipefail

tarball=$(realpath "$1")
inventories=$(realpath inventories)
samples=(two_node_direct three_node_ring switched_two_switches)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export ANSIBLE_COLLECTIONS_PATH=$folder ANSIBLE_HOME=$folder/.ansible ANSIBLE_CONFIG=$folder/ansible.cfg
touch "$ANSIBLE_CONFIG"

ansible-galaxy collection install --offline -p "$folder" "$tarball"
for sample in "${samples[@]}"; do
    mkdir "$sample"
    cp "$inventories/$sample"/*.yml "$sample"
    ansible-playbook -i "$sample" gb10.cluster.plan
    if [ ! -s "$sample/.gb10/cabling.md" ]; then
        echo "$sample - expected .gb10/cabling.md beside it, found none. The playbook plan writes it."
        exit 1
    fi
done
echo "installed $(basename "$tarball"), planned ${samples[*]} by gb10.cluster.plan"
