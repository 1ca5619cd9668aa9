"""Times of compiled functions over CasADi's in the same run, from a file of pytest-benchmark, beside the stored ratios.

python -m pytest -m slow --benchmark-enable --benchmark-json=FILE tests/codegen/test_benchmark_compiled.py
python tests/codegen/speeds.py FILE [--store]

A ratio of medians fails where it is more than eight times the stored one: four lies between the vectors of eight
doubles that it was measured with and the two that every x86-64 processor has, and another process that shares the core
during one of the two measurements costs two. Of a batch sixteen times: what takes its time there is the stores of the
transposed results (of 2,000 regressors 8 MB), for which an Intel Xeon takes ten times as long as the AMD EPYC of the
stored ratios. What goes past compiled code or, for one state, past the bridge costs fifty and more.
"""

import json
import sys
from pathlib import Path

STORED = Path(__file__).with_name("speeds.json")
MOST, MOST_OF_BATCH = 8.0, 16.0


def main(file: str, *options: str) -> int:
    times: dict[str, dict[bool, float]] = {}
    for one in json.loads(Path(file).read_text(encoding="utf-8"))["benchmarks"]:
        times.setdefault(one["group"], {})[one["params"]["compiled"]] = one["stats"]["median"]
    ratios = {group: round(pair[True] / pair[False], 5) for group, pair in sorted(times.items())}
    if "--store" in options:
        STORED.write_text(json.dumps(ratios, indent=1) + "\n", encoding="utf-8")
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    limits = {group: value * (MOST_OF_BATCH if "batch" in group else MOST) for group, value in stored.items()}
    slow = [group for group, limit in limits.items() if ratios.get(group, float("inf")) > limit]
    for group, ratio in ratios.items():
        sys.stdout.write(f"{group}: {ratio:.4f} (stored {stored.get(group)}){' SLOWER' * (group in slow)}\n")
    for group in set(stored) - set(ratios):
        sys.stdout.write(f"{group}: not measured\n")
    return bool(slow)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
