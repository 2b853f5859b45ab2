"""Builds the network, runs one experiment, watches it, judges it, stores it; and the command line."""
