"""Statistics of matched comparisons: pure functions on arrays, without files and without torch."""
