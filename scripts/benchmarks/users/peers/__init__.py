"""The task of docs/side_by_side.md, what a user of each tool writes for it, and the judge."""
