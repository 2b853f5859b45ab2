"""The founding documents: the paper, the replication report, Mininet-HiFi and HULL."""
