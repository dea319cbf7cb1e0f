#!/usr/bin/env bash
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Stands in for ssh or sftp, by the name it is called: writes the destination to $BENCH_LOG and becomes the real program.
# Every command or transfer that Ansible sends to a node starts one of the two; a command to a connection's master (-O) reaches no node.
program=${0##*/}
control=
while getopts ':46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:' flag; do
    [ "$flag" = O ] && control=yes
done
destination=${!OPTIND-}
[ -n "$control" ] || [ -z "$destination" ] || echo "$destination" >>"$BENCH_LOG"
exec "$program" "$@"
