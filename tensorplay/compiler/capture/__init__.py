"""From what the user wrote to a captured graph: proxies, free tensors, data gates."""
