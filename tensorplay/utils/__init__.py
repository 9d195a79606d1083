"""What stands beside models: memory for time (`checkpoint`)."""
