#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints the path of the first Python that exists and can make virtual environments: python.sh VERSION...
# pyenv's installations come first; its shims in PATH are tried and found wanting when the version is not selected.
set -euo pipefail

for version in "$@"; do
    for candidate in "$HOME/.pyenv/versions/$version".*/bin/"python$version" $(type -aP "python$version"); do
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            echo "$candidate"
            exit 0
        fi
    done
done
exit 1
