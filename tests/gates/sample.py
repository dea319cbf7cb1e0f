# Copyright (c) gb10.cluster contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the folder of a sample inventory and its topology: ``sample.py NAME [NODES]``.

NAME is the sample's, or with a number of nodes a topology. Then the sample of the topology's own name serves if it is large enough, else the
smallest one that is; of one that is too large, the first nodes and their cables go into ``.build/samples``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
SAMPLES = REPOSITORY / "inventories"
CUT = REPOSITORY / ".build/samples"


class NoSample(Exception):
    """No sample is of this topology and large enough: its text says which there are."""


def read(folder: Path) -> dict[str, Any]:
    """The inventory of a sample as data."""
    return dict(yaml.safe_load((folder / "hosts.yml").read_text(encoding="utf-8"))["all"])


def nodes(sample: dict[str, Any]) -> list[str]:
    """Its nodes in order."""
    return list(sample["children"]["gb10_nodes"]["hosts"])


def _has_ends(sample: dict[str, Any]) -> bool:
    """Whether every cable goes from a switch to nodes, so that a node less leaves an empty end."""
    return all("to" in cable for cable in sample["vars"].get("fabric_cables", [{}]))


def first(sample: dict[str, Any], number: int) -> dict[str, Any]:
    """The sample with its first nodes only, without cables and switches that then have no node."""
    kept = nodes(sample)[:number]
    group = sample["children"]["gb10_nodes"]
    cables = [{**cable, "to": [end if end and end.rpartition(".")[0] in kept else None for end in cable["to"]]} for cable in sample["vars"]["fabric_cables"]]
    cables = [cable for cable in cables if any(cable["to"])]
    used = {cable["switch"] for cable in cables}
    switches = sample["children"]["gb10_switches"]
    return {
        "vars": {**sample["vars"], "fabric_cables": cables},
        "children": {
            "gb10_nodes": {**group, "hosts": {name: group["hosts"][name] for name in kept}},
            "gb10_switches": {**switches, "hosts": {name: host for name, host in switches["hosts"].items() if name in used}},
        },
    }


def find(topology: str, number: int | None = None) -> Path:
    """The folder of the sample of that name, or one of that topology with that many nodes; raises :class:`NoSample`."""
    samples = {folder.parent: read(folder.parent) for folder in sorted(SAMPLES.glob("*/hosts.yml"))}
    if number is None and SAMPLES / topology in samples:
        return SAMPLES / topology
    samples = {folder: sample for folder, sample in samples.items() if sample["vars"]["fabric_topology"] == topology}
    # only a switch has ends to spare
    large = [folder for folder, sample in samples.items() if len(nodes(sample)) == number or (len(nodes(sample)) > (number or 0) > 1 and _has_ends(sample))]
    if not large:
        known = sorted(folder.parent.name for folder in SAMPLES.glob("*/hosts.yml"))
        counts = sorted({len(nodes(sample)) for sample in samples.values()})
        expected = f"{topology} with {' or '.join(map(str, counts))} nodes" if samples else " or ".join(known)
        found = f"{number} nodes" if samples else topology
        raise NoSample(f"sample inventory - expected {expected}, found {found}. Write TOPOLOGY=NAME and perhaps NODES=NUMBER.")
    best = min(large, key=lambda folder: (folder.name != topology, len(nodes(samples[folder]))))
    if len(nodes(samples[best])) == number:
        return best
    target = CUT / f"{topology}_{number}"
    target.mkdir(parents=True, exist_ok=True)
    (target / "hosts.yml").write_text(yaml.safe_dump({"all": first(samples[best], number or 0)}, sort_keys=False), encoding="utf-8")
    return target


def main() -> int:
    """Print the folder and the topology."""
    try:
        folder = find(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] and sys.argv[2] else None)
        print(folder, read(folder)["vars"]["fabric_topology"])
    except NoSample as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
