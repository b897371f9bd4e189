"""From tasks to episodes: task sets, splits, mixing matrices, support and query rows."""
