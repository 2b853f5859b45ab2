"""Mininet-HiFi's other two experiments (Handigol et al., CoNEXT '12): DCTCP, and the sizes of buffers."""
