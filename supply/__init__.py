"""What a wheel is made of, and where it can be installed."""
