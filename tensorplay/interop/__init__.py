"""Other libraries that learn about our tensors, or exchange them with us. None is imported before its user imports it.

- `tensorplay.interop.einops`: `einops.rearrange` and its like, and the layers, on tensors.
"""
