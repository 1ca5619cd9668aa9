"""What a motion must keep: joint limits, constraints on states, clearance."""
