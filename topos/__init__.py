"""What the network looks like: the k-ary fat-tree and the non-blocking control. Pure structure, no I/O."""
