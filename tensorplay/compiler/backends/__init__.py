"""Backends: what turns an operator graph, or a captured graph, into something that runs."""
