"""Rewrites of graphs that keep every bit: canonicalize, fold, merge equal, drop dead."""
