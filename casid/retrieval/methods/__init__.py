"""Ways to solve a problem, one file each, with one contract: `Method`."""
