"""Who sends to whom: patterns, the published matrices, flow files; iperf and bwm-ng commands and parsers."""
