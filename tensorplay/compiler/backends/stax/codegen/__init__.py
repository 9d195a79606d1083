"""Code generation: the groups of a schedule printed as C++ for CPUs and as Triton for GPUs."""
