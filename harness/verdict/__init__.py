"""What a run was worth: rates, what its own paths allow, full links, recovery, and the verdict."""
