"""What a pass is."""
