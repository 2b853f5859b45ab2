"""What a run was worth: rates, the yardstick of its own paths, full links, recovery, and the verdict."""
