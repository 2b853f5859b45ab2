"""Mininet-HiFi (Handigol et al., CoNEXT '12) beside Hedera: DCTCP, how evenly links send, and the sizes of buffers."""
