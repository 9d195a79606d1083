"""Stax: operator graphs become loop programs, groups of loops, and kernels; `pipeline` runs the stages."""
