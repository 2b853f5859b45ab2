"""Sized TCP flows between real sockets: one sender and one sink per host, which last as long as the run."""
