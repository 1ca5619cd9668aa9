"""What casid computes, against values recorded before: choices, parameters, certificates, findings, files.

`python tests/contract/record.py --differences` prints what differs; without the option it records anew.
"""

import pytest

from casid.testing import NotMeasured
from tests.contract.case import differences, golden, plain
from tests.contract.groups import GROUPS

CASES = [
    pytest.param(group, name, id=f"{group}: {name}", marks=[pytest.mark.slow] if case.slow else [])
    for group, cases in GROUPS.items()
    for name, case in cases.items()
]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("group, name", CASES)
def test_case_is_as_recorded(group, name):
    try:
        values = plain(GROUPS[group][name].run())
    except NotMeasured as reason:
        pytest.skip(str(reason))
    assert name in golden(group), "record it: python tests/contract/record.py"
    found = list(differences(golden(group)[name], values))
    assert not found, "\n".join(f"{field}: {old} -> {new}" for field, old, new in found)


def test_every_recorded_value_has_its_case():
    assert not [f"{group}: {name}" for group, cases in GROUPS.items() for name in golden(group).keys() - cases.keys()]
