"""What labels teach: what one has changed, how sure the ranking is, which rows to label next, what else would do."""
