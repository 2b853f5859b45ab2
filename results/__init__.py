"""Results: the record of a run, and the numbers the paper published."""
