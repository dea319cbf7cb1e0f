# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one grammar in which the collection refuses, warns and fails."""

from __future__ import annotations


def message(what: str, expected: object, found: object, fix: str) -> str:
    """Say what is wrong in one line: ``<what> - expected <X>, found <Y>. <what to do>``.

    :param what: the thing that is wrong, named as its owner knows it (``spark-1 p0 rail 1: MTU``).
    :param expected: the right value, or a phrase for the set of right values.
    :param found: the value that was there.
    :param fix: a sentence that says what to do; its first letter is a capital, it ends in a full stop.
    """
    return f"{what} - expected {expected}, found {found}. {fix}"
