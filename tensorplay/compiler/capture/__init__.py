"""From what the user wrote to a captured graph: the survey, stand-ins, free tensors, data gates."""
