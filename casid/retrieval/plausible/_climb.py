"""The path of growing prices of the residual, from the plausible bodies to the data (`PricedNewton`)."""

from __future__ import annotations

import numpy as np

from casid.retrieval.plausible._newton import Point, PricedNewton

#: First price of the path of prices and the last one, in units of the least sum of squares asked for, and the largest
#: factor from one to the next.
CHEAP, DEAR, DEARER = 1e-9, 1e14, 30.0
#: Relative error to which the increase of the sum of squares meets its limit, the prices tried for it, and how many
#: of them may fail.
MET, TRIED, FAILURES = 1e-5, 25, 2


class Climb:
    """The path of growing prices, from the plausible bodies to the data; ``room``: least sum of squares asked for."""

    def __init__(self, newton: PricedNewton, least: float, room: float, first: Point, met: float) -> None:
        self._newton, self._least, self._point, self._met = newton, least, first, met
        self._unit = 1.0 / max(least, room, 1e-300)
        self.price = 0.0

    def _exact(self, point: Point, price: float) -> Point | None:
        """The exact answer at a price, from the rough one; None: none found."""
        made = self._newton.solve(point, price)
        self._point, self.price = point, price
        return made if made.solved else None

    def _fallback(self, price: float | None) -> Point | None:
        """The exact answer at a price that is known to be high enough."""
        return None if price is None else self._exact(self._newton.solve(self._point, price, rough=True), price)

    def to(self, room: float) -> Point | None:
        """The point whose sum of squares is ``room``, within ``met`` of its increase over the least; None: none found.

        The logarithm of the increase falls almost linearly in that of the price: Newton's method within a bracket.
        """
        price = self.price or CHEAP * self._unit
        point = self._newton.solve(self._point, price, rough=True)
        below, above = 0.0, np.inf
        wanted = np.log(max(room - self._least, 1e-12 * room)) - 2 * self._met  # within the limit
        answer: float | None = None
        failures, rough = 0, True
        for _ in range(TRIED):
            if not point.solved:  # too far: a price between
                failures += 1
                if failures > FAILURES:
                    return self._fallback(answer)
                price = float(np.sqrt(price * self.price)) if self.price else 0.1 * price
                point = self._newton.solve(self._point, price, rough)
                continue
            self._point, self.price = point, price
            left = self._newton.residual(point.y) - self._least
            if left <= 0:
                above = price
                now = -np.inf
            else:
                now = np.log(left)
                if abs(now - wanted) <= self._met or (now < wanted and below == 0.0):
                    if not rough:
                        return point
                    rough, below, above = False, below and price / DEARER, np.inf
                    point = self._newton.solve(point, price)
                    continue
                below, above = (price, above) if now > wanted else (below, price)
                answer = price if now <= wanted else answer
            steepness = point.slope / left if left > 0 else 0.0
            step = (
                np.exp(np.clip((wanted - now) / steepness, -np.log(DEARER), np.log(DEARER)))
                if steepness < 0
                else DEARER
            )
            price = price * step
            if not below < price < above:
                price = DEARER * below if np.isinf(above) else float(np.sqrt(max(below, 1e-6 * above) * above))
            if price > DEAR * self._unit:
                return self._fallback(answer)
            point = self._newton.solve(point, price, rough)
        return self._fallback(answer)
