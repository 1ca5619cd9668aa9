"""Time compiled functions of robots beside Pinocchio's C++ algorithms, in one process on the same states.

    python scripts/benchmarks/dynamics.py [ROBOT ...] [--quick] [--out FILE.json]

Each row: median and minimum time of one evaluation over many interleaved repeats, the ratio of medians to Pinocchio's
fastest variant of the same algorithm, and the largest deviation from Pinocchio. Ratios count: both sides run in turn,
so that a busy machine slows both. Needs gcc, g++, Eigen's headers and the extra `peers`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from rich.console import Console
from rich.table import Table

import casid
from benchmarks.compiled.dynamics_race import Race, race
from benchmarks.measure import NotMeasured

#: Which algorithm of Pinocchio computes the same.
PEERS = {
    "inverse_dynamics": "rnea",
    "inverse_dynamics_numeric": "rnea",
    "regressor": "computeJointTorqueRegressor",
    "regressor_block": "computeJointTorqueRegressor",
    "regressor_batch": "computeJointTorqueRegressor",
    "mass_matrix": "crba",
    "forward_dynamics": "aba",
    "inverse_dynamics_derivatives": "computeRNEADerivatives",
    "forward_dynamics_derivatives": "computeABADerivatives",
}


def race_table(name: str, result: Race) -> Table:
    table = Table(title=f"{name}: one evaluation")
    for column in ("function", "median [ns]", "minimum [ns]", "Pinocchio", "ratio", "deviation"):
        table.add_column(column, justify="left" if column in ("function", "Pinocchio") else "right")
    for function, peer in PEERS.items():
        time = result.times[function]
        ratio = result.ratio(function, peer)
        numbers = (f"{time.median:.0f}", f"{time.minimum:.0f}", peer, f"{ratio:.3f}", f"{time.error:.0e}")
        table.add_row(function, *numbers)
    for function, time in result.times.items():
        if function.startswith("pinocchio"):
            table.add_row(function, f"{time.median:.0f}", f"{time.minimum:.0f}", "", "", "")
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("robots", nargs="*", metavar="ROBOT", default=["panda", "kuka_iiwa"])
    parser.add_argument("--quick", action="store_true", help="few repeats: does it run at all")
    parser.add_argument("--out", type=Path, help="write the times as JSON")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 130)
    record = {}
    for name in options.robots:
        try:
            result = race(casid.load_robot(name), repeats=20 if options.quick else 400)
        except NotMeasured as reason:
            console.print(f"{name}: not measured: {reason}")
            return 1
        console.print(race_table(name, result))
        record[name] = {function: vars(time) for function, time in result.times.items()}
    if options.out:
        options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
