"""Profile intervals: closed forms, open sides, what is asked for."""

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import FREE, FreeRuns, Servo, SimulationOptions, Unknown, identify_from_commands
from casid.drives._profile import Profiles
from casid.drives._search import Search
from casid.errors import DatasetError
from casid.testing import broadband_commands, commanded_motion

TRUE = {"kp": [12.0, 9.0], "armature": 0.03, "viscous": 0.4, "coulomb": 0.0, "bias": 0.01, "delay": 0.01}
T = np.arange(300) * 0.02


@pytest.mark.claim("the profile of a quadratic objective ends where its closed form does; a flat one is open")
def test_profiles_in_closed_form(arm):
    """Without weight a constant torque o is a command offset -o / kp: ``min_o`` of both is the prior of o alone."""
    weightless = replace(arm, gravity=np.zeros(3))
    smooth = {**TRUE, "viscous": 1.0}
    data = commanded_motion(weightless, Servo(**smooth), T, broadband_commands(T, [0.2, -0.3], 0.5), noise=1e-3)
    for sd in (0.3, np.inf):
        prior = Unknown(0.0, sd) if np.isfinite(sd) else FREE
        servo = Servo(**{**smooth, "bias": [FREE, 0.01], "offset": [prior, 0.0]})
        runs = FreeRuns(weightless, servo, [data], 2e-3, 3.0, threads=1)
        search = Search(runs)
        point, normal = search.run(runs.point(np.zeros(2)))
        profiles = Profiles(search, point, normal, np.full(2, np.inf), runs.of([data]))
        one = profiles.of(runs.named(["bias"])[0])
        if np.isfinite(sd):
            half = np.sqrt(profiles.threshold[0]) * sd / 12.0
            assert one.closed == (True, True) and one.words.startswith("from ")
            assert [one.value - one.low, one.high - one.value] == pytest.approx([half, half], rel=0.05)
            parabola = ((one.path[:, 0] - one.value) / half) ** 2
            assert one.path[:, 1] == pytest.approx(parabola, rel=0.1, abs=0.02)
        else:
            assert one.closed == (False, False) and one.words.startswith("open")
            assert one.path[:, 1].max() < 0.2


@pytest.mark.claim("a profile says that slow motions bound the armature from above only; Fisher's interval cannot")
def test_a_profile_that_is_open_below(arm):
    t = np.arange(400) * 0.02
    true = Servo(**{**TRUE, "armature": 5e-4, "coulomb": 0.05})
    slow = [
        commanded_motion(arm, true, t, broadband_commands(t, [0.2, -0.3], 0.5, seed=k, highest=0.3), noise=1e-3,
                         seed=k, name=f"motion {k}")
        for k in range(2)
    ]  # fmt: skip
    options = SimulationOptions(terms=(), threads=1)
    found = identify_from_commands(arm, slow, Servo(kp=[12.0, 9.0]), options, profile=["armature elbow"])
    (one,) = found.profiles
    assert one.closed == (False, True) and one.words.startswith("bounded above only: at most")
    assert one.low == pytest.approx(1e-6) and 5e-4 < one.high < 0.05
    assert one.path[0, 1] < 1.0 < one.path[-1, 1]
    assert found.record()["profiles"][0]["closed"] == [False, True]


def test_profiles_of_what_is_no_unknown_are_refused(arm):
    data = commanded_motion(arm, Servo(**TRUE), T, broadband_commands(T, [0.2, -0.3], 0.5))
    runs = FreeRuns(arm, Servo(**{**TRUE, "kp": FREE, "viscous": FREE}), [data], longest=3.0, threads=1)
    assert runs.named(["kp", "viscous elbow"]) == [0, 1, 3] and runs.named(["all"]) == [0, 1, 2, 3]
    with pytest.raises(DatasetError, match="'armature' is no unknown here"):
        runs.named(["armature"])
