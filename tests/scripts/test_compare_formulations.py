"""The study of formulations runs, and says what it says of the library's own formulation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_comparison_of_formulations(tmp_path: Path) -> None:
    script = Path(__file__).resolve().parents[2] / "scripts" / "compare_formulations.py"
    out = tmp_path / "comparison.json"
    done = subprocess.run(
        [sys.executable, str(script), "--quick", "--json", str(out)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    record = json.loads(out.read_text())
    own = record["formulations"][0]
    assert "casid" in own["formulation"] and own["certified"] == own["starts"] == 2 and 0 <= own["worst_gap"] <= 1e-6
    assert len(record["formulations"]) >= 10 and all(row["median_iterations"] > 0 for row in record["formulations"])
    assert all(row["certified"] for row in record["sizes"])
