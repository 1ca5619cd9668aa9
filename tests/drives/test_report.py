"""Report of an identification from commands: tables, words, figures."""

from dataclasses import replace

import numpy as np
import pytest

from casid.drives import FreeRuns, Servo, SimulationOptions, identify_from_commands
from casid.errors import CasidError
from casid.report import report_of


@pytest.fixture(scope="module")
def found(arm, data):
    known = Servo(kp=Servo().kp, armature=0.03, viscous=0.4, coulomb=0.0, bias=0.01)
    return identify_from_commands(arm, [data], known, SimulationOptions(threads=1, folds=0, terms=()))


def cells(found):
    """Cells of the column of gains, and the note below the table."""
    summary, table = report_of(found).tables()[:2]
    text = " ".join(str(cell) for column in summary.columns for cell in column.cells)
    return [str(cell) for cell in table.columns[1].cells], str(table.caption), text


def test_the_table_has_what_was_unknown_and_nothing_else(found):
    values, _, text = cells(found)
    table = report_of(found).tables()[1]
    assert [str(column.header) for column in table.columns] == ["joint", "kp [N.m/rad]"]
    assert [float(value.split()[0]) for value in values] == pytest.approx([12.0, 9.0], rel=0.1)
    assert found.headline in text and f"{1e3 * found.error:.3g} mrad" in text


def test_values_have_the_digits_of_their_intervals(found):
    kp = [e for e in found.estimates if e.attribute == "kp"]

    def shown(**changes):
        return cells(replace(found, estimates=(replace(kp[0], value=12.3456, **changes), *found.estimates[1:])))[0][0]

    assert shown(low=12.3, high=12.39) == "12.346 ±0.046" and shown(low=12.3, high=14.0) == "12.3 ±1.7"
    assert shown(determined=False) == "(12)" and shown(low=0.0, high=0.123) == "< 0.12"


def test_findings_and_remarks_in_words(arm, data, found):
    reversed_ = replace(data, q_des=data.q_des * [1, -1])
    wrong = identify_from_commands(arm, [reversed_], found.servo, SimulationOptions(threads=1, folds=0, terms=()))
    assert "sign of elbow: encoder and command move against each other" in cells(wrong)[2]
    assert "tried: " in cells(wrong)[2] and wrong.headline.startswith("not to be trusted: sign of elbow")
    opened = [replace(e, words="not determined") if not e.common else e for e in found.estimates]
    note = cells(replace(found, estimates=tuple(opened)))[1]
    assert "kp shoulder, kp elbow: not determined" in note and "delay of all joints" in note


def test_the_figure_shows_commands_encoders_and_free_runs(data, found):
    axes = found.plot_free_runs()
    assert [one.get_ylabel() for one in axes] == ["shoulder", "elbow"]
    command, encoder, free = (line.get_ydata() for line in axes[1].get_lines())
    assert np.array_equal(command, data.q_des[:, 1]) and np.array_equal(encoder, data.q[:, 1])
    assert np.sqrt(np.mean((free - encoder) ** 2)) < 5e-3
    other = found.plot_free_runs(data.rows(slice(0, 60)))
    assert [len(one.get_lines()[0].get_ydata()) for one in other] == [60, 60]
    with pytest.raises(CasidError, match="there is no recording 7"):
        found.plot_free_runs(7)
    report = report_of(found)
    assert report.lead == found.headline and "kp shoulder" in str(report.sections[0].record())


def test_a_prediction_beyond_the_fit_says_so(data, found):
    """Twice the gain asks for twice the torque, half the time for twice the speed; a voltage is a limit of its own."""
    assert found.beyond(data) == () and found.beyond(data.rows(slice(50, 70))) == ()
    words = "torque 2 x what the fit has seen"
    assert found.beyond(replace(data, gain=2.0)) == (f"shoulder: {words}", f"elbow: {words}")
    faster = found.beyond(replace(data, t=data.t / 2))
    assert len(faster) == 2 and all("speed" in words and "torque" not in words for words in faster)
    error = np.abs(data.q_des + 0.01 - data.q)
    duty = [1.5 * error[:, 0].max(), np.inf]
    limited = replace(found, runs=FreeRuns(found.robot, replace(found.servo, duty=duty), [data], threads=1))
    (first, _) = limited.beyond(replace(data, gain=2.0))
    assert first.startswith("shoulder: full voltage for") and "(0 % in the fit), torque 1.5 x" in first
    title = found.plot_free_runs(replace(data, gain=2.0))[0].figure.get_suptitle()
    assert "beyond the fit: shoulder" in title and "1 more" in title


def test_the_page_shows_the_arm_free_runs_and_every_interval(found):
    report = report_of(found)
    page = report.html()
    assert 'data-robot="robot1"' in page and 'data-plots="0"' in page
    assert set(report.figures()) == {"free_runs", "parameters"}
    panels = [axes for axes in report.figures()["parameters"].axes if axes.get_title(loc="left")]
    assert len(panels) == len({e.attribute for e in found.estimates})
    gains = panels[[e.attribute for e in found.estimates].index("kp")]
    drawn = [line.get_xdata()[0] for line in gains.get_lines() if line.get_marker() == "o"]
    assert drawn == [e.value for e in found.estimates if e.attribute == "kp"]
