#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Installs the programs that gates need and pip does not have. What the lab needs beyond them, tests/lab/setup.sh installs.
set -euo pipefail

packages=(shellcheck)
missing=()
for package in "${packages[@]}"; do
    command -v "$package" >/dev/null || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "programs - expected ${packages[*]}, missing ${missing[*]}. Install them."
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null || {
    apt-get update -qq
    apt-get install -qq --no-install-recommends "${missing[@]}" >/dev/null
}
