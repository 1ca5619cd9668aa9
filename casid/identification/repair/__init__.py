"""Unphysical bodies of a robot file or of given parameters: whether the dynamics are feasible, and the repair."""

from casid.identification.repair._check import check_file as check_file
from casid.identification.repair._feasibility import feasibility_test as feasibility_test
from casid.identification.repair._feasibility import nearest_consistent as nearest_consistent
from casid.identification.repair._feasibility import nearest_feasible as nearest_feasible
from casid.identification.repair._repair import repair as repair

# between rooms
from casid.identification.repair._feasibility import Feasibility as Feasibility
from casid.identification.repair._check import FileCheck as FileCheck
