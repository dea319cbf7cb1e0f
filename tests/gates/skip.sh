#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stands in for a gate that can not run on this machine: skip.sh REASON...
echo "$*"
exit 77
