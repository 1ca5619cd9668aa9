"""Methods of feasible identification compared: Sousa (2014), Sec. 6, made anew.

    python scripts/compare_methods.py --out build/methods

Random data for 1 to 40 links (Fig. 6.2, 6.3), the Barrett WAM (Fig. 6.1, 6.4) and the test of Yoshida and Khalil; writes
pictures and ``compare_methods.json``. ``--quick`` takes a few small sizes. All on one thread.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # times are compared on one core; set before numpy loads

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from casid.report.write import save_figure, write_text  # noqa: E402
from measures.measure import NotMeasured  # noqa: E402
from methods.figures import error_figure, pd_ratio_figure, reduction_figure, time_figure  # noqa: E402
from methods.positive_definite_ratio import (  # noqa: E402
    from_base,
    mass_matrices,
    published_mass_matrices,
    random_poses,
    ratios,
)
from methods.reduction_study import reduction_path  # noqa: E402
from methods.study import Size, as_records, run_sizes  # noqa: E402
from methods.wam import WamData, simulate  # noqa: E402
