"""The compiler.

Its packages are the layers of docs/architecture.md, from the top down: `api` and `explain`, `specialize`, `capture`, `transforms`, `aot`, `backends`; `phases` holds the
types that they hand on, and `target` what they aim at.
"""
