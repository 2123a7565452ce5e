"""What can be done with graphs: shapes, splits, matches."""
