"""Core: dtypes, devices, layouts, metadata, random state, errors, configuration.

The lowest layer in Python. It knows neither operators nor tensors with behaviour; everything above
imports it.
"""
