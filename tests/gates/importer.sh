#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs Galaxy's importer on the tarball as Galaxy would: importer.sh TARBALL
# The importer succeeds with warnings and even with errors it only logs; here each of them fails.
set -euo pipefail

tarball=$(realpath "$1")
export GALAXY_IMPORTER_CONFIG=$PWD/tests/gates/galaxy-importer.cfg
mkdir -p .build/importer
cd .build/importer
python -m galaxy_importer.main "$tarball" 2>&1 | tee importer.log
if grep -E '^(WARNING|ERROR|CRITICAL):' importer.log; then
    echo "importer - expected no warning, found the ones above. Repair them; Galaxy shows them to everybody."
    exit 1
fi
