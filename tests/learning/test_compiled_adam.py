"""Adam in C against Adam in Python."""

from __future__ import annotations

import pytest

from casid.learning import (
    Adam,
    Chart,
    train,
)
from casid.learning._compiled_adam import CompiledAdam


@pytest.mark.parametrize("shuffle", [True, False])
def test_adam_in_c_takes_the_steps_of_adam_in_python(loss_of, model, data, monkeypatch, shuffle):
    """A few epochs: rounding grows with the steps."""
    chart, loss = Chart(model, "log-cholesky"), loss_of(model, data, "log-cholesky")
    optimiser = Adam(batch=64, shuffle=shuffle)
    compiled = train(loss, chart, optimiser, epochs=3, seed=3)
    monkeypatch.setattr(CompiledAdam, "available", staticmethod(lambda: False))
    interpreted = train(loss, chart, optimiser, epochs=3, seed=3)
    assert compiled.step.theta == pytest.approx(interpreted.step.theta, rel=1e-9, abs=1e-12)
    for name, value in interpreted.step.memory.items():
        assert compiled.step.memory[name] == pytest.approx(value, rel=1e-7, abs=1e-12)
