"""A run as a job: JSON in, a folder out; and who carries it out: guests, the one root child, or a cluster."""
