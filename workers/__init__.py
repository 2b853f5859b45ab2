"""Many tasks on many workers: processes of this machine, or machines of a Dask cluster over TLS."""
