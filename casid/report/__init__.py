"""Tables for the terminal, pictures, and the files of a result."""
