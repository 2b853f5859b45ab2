"""Speed and quality against the paper and the targets: each command prints one table."""
