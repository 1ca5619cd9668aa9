"""What a solution and its data say: explanations, intervals, tolerances, what further knowledge would settle."""
