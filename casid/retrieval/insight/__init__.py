"""What a solution and its data imply: explanations, intervals, what further knowledge would settle."""
