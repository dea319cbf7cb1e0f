#!/bin/sh
# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what the lab needs on the host. Does nothing when everything is there; needs root and Debian or Ubuntu otherwise.
set -eu

missing=
need() { # PROGRAM PACKAGE
  command -v "$1" > /dev/null 2>&1 || missing="$missing $2"
}
need podman podman
need ip iproute2
need nsenter util-linux
need sysctl procps
need ssh openssh-client
need ssh-keygen openssh-client
need debootstrap debootstrap
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing="$missing debian-archive-keyring"
command -v crun > /dev/null 2>&1 || need runc runc
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null 2>&1; then
  echo "lab: missing$missing. Install them with this system's package manager, then run this again." >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -y -q --no-install-recommends $missing
