"""Export a robot twice, as the controller's model and as the plant, and run computed-torque control in C at 1 kHz.

    python scripts/examples/controller_example.py [--robot panda] [--payload 1.0] [--seconds 5] [--out DIR]

Prints the worst time of a control cycle and the tracking error, with the plant equal to the model and, if a payload is
given, with a plant that carries it unknown to the controller. The Panda also runs in a libfranka-style C++ callback.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.compiled import build_controller, run_controller

import casid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robot", default="panda", help="a shipped robot's name or a file with inertial values")
    parser.add_argument("--payload", type=float, default=1.0, help="mass at the plant's flange [kg]")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--out", type=Path, help="keep the exported and compiled code here")
    options = parser.parse_args()
    robot = casid.load_robot(options.robot)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.out or Path(scratch)
        for name, payload in (("nominal", 0.0), ("payload", options.payload)):
            built = build_controller(robot, folder / name, payload)
            print(f"{name}: {run_controller(built, options.seconds)}")
            if built.franka is not None and payload == 0.0:
                done = subprocess.run([built.franka], capture_output=True, text=True, check=True)
                print(done.stdout.strip())


if __name__ == "__main__":
    main()
