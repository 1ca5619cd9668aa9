"""Information of motions about parameters: observations and criteria."""

# between rooms
from casid.excitation.information._criteria import CRITERIA as CRITERIA
from casid.excitation.information._criteria import criterion as criterion
