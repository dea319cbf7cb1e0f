#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# All sanity tests on the Python of a virtual environment: sanity.sh VENV TREE [NODE_PYTHON]
# NODE_PYTHON is the oldest Python of a node, or "none": what runs there is compiled and imported by it too.
set -euo pipefail

venv=$(realpath "$1") tree=$2 node_python=${3:-}
export PATH="$venv/bin:$PATH" LC_ALL=C.UTF-8
python=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

# ansible-test bootstraps pip in its environments by a script it downloads; Python brings the same along
pip=$(sed -n "s/^ *pip='\([0-9.]*\)',$/\1/p" "$venv"/lib/python*/site-packages/ansible_test/_internal/python_requirements.py)
bootstrap=$HOME/.ansible/test/cache/get_pip_${pip//./_}.py
if [ ! -e "$bootstrap" ]; then
    mkdir -p "${bootstrap%/*}"
    printf 'import ensurepip\nensurepip.bootstrap(default_pip=True)\n' >"$bootstrap"
fi

# ansible-test trusts an environment of its own by its folder: one whose making was interrupted, or whose Python has gone, fails for ever
for environment in "$HOME"/.ansible/test/venv/*/*/*/; do
    [ ! -d "$environment" ] || "$environment/bin/python" -c '' 2>/dev/null || rm -rf "$environment"
done

python_folder=$PWD/.build/python
mkdir -p "$python_folder"
cd "$tree"
export PIP_QUIET=1
status=0
ansible-test sanity --color no --python "$python" || status=1
if [ "$node_python" = none ]; then
    echo "skipped: compile and import of node code on Python 3.10, because this machine has no such Python"
elif [ -n "$node_python" ]; then
    # ansible-test finds it by its name in PATH
    ln -sf "$node_python" "$python_folder/"
    PATH="$python_folder:$PATH" ansible-test sanity --color no --python "${node_python##*python}" --test compile --test import || status=1
fi
if [ $status -ne 0 ]; then
    echo "sanity - expected no failure, found those above. Repair them; ansible-test sanity --test NAME PATH runs one again."
    exit 1
fi
core=$(python -c 'from importlib.metadata import version; print(version("ansible-core"))')
echo "all sanity tests of ansible-core $core on Python $python${node_python:+, node code on Python ${node_python##*python}}"
