"""Split tasks, mix their attributes, and draw episodes of support and query rows from them."""
