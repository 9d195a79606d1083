"""Interpretations of an `inner_fn`: recording, text, counting, all over one base that propagates indices."""
