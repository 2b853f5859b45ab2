"""Who sends to whom: patterns, the published matrices, flow files; iperf and bwm-ng command lines and parsers."""
