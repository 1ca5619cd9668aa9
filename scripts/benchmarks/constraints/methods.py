"""Rows of the constraints table about feasible regression: the library, the semidefinite program, other methods."""

from __future__ import annotations

from benchmarks.measure import Measure, need


def forty_links() -> tuple[str, bool]:
    need("clarabel")
    from papers.methods.duel import duel

    forty, seven = duel(40), duel(7, rounds=30)
    met = all(
        d.proven_gap <= 1e-8 and d.above_clarabel <= 1e-8 and d.eigenvalue >= d.margin - 1e-12 for d in (forty, seven)
    )
    met = met and forty.build + forty.solve <= 1.0 and forty.ratio <= 2.0 and seven.ratio <= 1.5
    text = (
        f"40 links: proven within {forty.proven_gap:.1e} of the optimum ({forty.above_clarabel:+.1e} from Clarabel's); "
        f"building {forty.build:.3f} s, solve and certificate {forty.solve:.3f} s, {forty.ratio:.2f} x Clarabel "
        f"(and QR of 10000 x 401: {forty.compress:.2f} s). "
        f"7 links: {seven.proven_gap:.1e}, {1e3 * seven.solve:.2f} ms, {seven.ratio:.2f} x"
    )
    return text, met


def every_size() -> tuple[str, bool]:
    need("clarabel")
    from papers.methods.study import run_sizes

    gap = worse = below = 0.0
    least = {"Point masses (3^3)": float("inf"), "Mata (SQP)": float("inf"), "Mata (IPOPT)": float("inf")}
    solved = dict.fromkeys(least, 0)
    count = 0
    for size in run_sizes(range(1, 41), mata_seconds=3.0, repeats=1):
        own = size.answers["casid"]
        met_here = own.success
        gap = max(gap, 1.0 - size.lower_bound / own.excess) if met_here else float("inf")
        worse = max(worse, own.excess / size.optimum - 1.0)
        below = max(below, 1.0 - own.excess / size.optimum)
        for name in least:
            if size.answers[name].success:
                solved[name] += 1
                least[name] = min(least[name], size.answers[name].excess / own.excess - 1.0)
        count += 1
    met = count == 40 and gap <= 1e-8 and worse <= 1e-8 and all(value >= -1e-8 for value in least.values())
    met = met and all(solved.values())
    others = ", ".join(f"{name}: {solved[name]} of 40, from {least[name]:+.1e}" for name in least)
    return (
        f"{count} sizes: proven within {gap:.1e} of the optimum, at most {worse:.1e} above Clarabel's (which is up to "
        f"{below:.1e} above ours). Feasible answers of others above it: {others}"
    ), met


METHOD_MEASURES = (
    Measure(
        "40-link feasible regression (400 parameters)",
        "within 1e-8 of the semidefinite optimum; build + solve <= 1 s; solve <= 2 x Clarabel, 7 links <= 1.5 x",
        "prototype: 0.1 + 0.3 s, 1.9 x; 1.5 x",
        forty_links,
    ),
    Measure(
        "regression error over 1-40 links",
        "equal to the semidefinite program's at every size; point masses and Mata above it",
        "Sousa 2014, Fig. 6.2, 6.3",
        every_size,
    ),
)
