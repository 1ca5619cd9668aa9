"""What a solution leans on and what the data leave open: conflicts, explanations, intervals."""
