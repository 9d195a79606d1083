"""When a compiled program may be used again: keys, guards, the two levels of dispatch."""
