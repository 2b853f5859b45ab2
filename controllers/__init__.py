"""The routing and scheduling controller: a platform-neutral core, and thin adapters to os-ken and POX."""
