"""Tables, figures and algorithms of the four documents that this library builds on, computed anew: one file an item."""
