"""Joint limits, constraints on states, and clearance of a motion."""
