#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Shows the collection at work: a simulated cluster, its topology's playbook twice: lab.sh SAMPLE, or lab.sh TOPOLOGY NODES
# Fails unless the second run changes nothing. The lab stays up; $GB10_LAB names it.
set -euo pipefail

sample=$(python tests/gates/sample.py "$1" "${2:-}")
topology=${sample##* }
inventory=${sample% *}
inventory=${inventory#"$PWD"/}
mkdir -p .build/lab

headline() { printf '\n======== %s\n\n' "$*"; }

headline "a simulated cluster for $inventory"
python tests/lab/lab.py up --inventory "$inventory"
eval "$(python tests/lab/lab.py env)"
python tests/lab/lab.py status

for run in first second; do
    headline "$run run: ansible-playbook -i $inventory gb10.cluster.$topology"
    begin=$SECONDS
    ansible-playbook -i "$inventory" "gb10.cluster.$topology" 2>&1 | tee ".build/lab/$run.log"
    printf '%s run: %d s\n' "$run" $((SECONDS - begin))
done

headline "result"
result=0
python tests/gates/recap.py .build/lab/second.log || result=1
[ $result -eq 0 ] || echo "second run - expected changed=0 on every host, found the above. Look at .build/lab/second.log."
cat <<END

The lab (simulated hardware, real SSH and network stack) stays up. To look around, in this folder:

  export PATH="\$PWD/.venv/bin:\$PATH" ANSIBLE_COLLECTIONS_PATH="\$PWD/.build/dev"
  eval "\$(python tests/lab/lab.py env)"
  ansible-playbook -i $inventory gb10.cluster.$topology
  ansible -i $inventory gb10_nodes -m gb10.cluster.connectx_info --become
  python tests/lab/lab.py --help        # status, exec NODE COMMAND, fault NAME, reboot NODE
  make lab-down                         # takes it down
END
exit $result
