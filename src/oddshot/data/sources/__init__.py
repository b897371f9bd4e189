"""The paper's datasets: their cards, downloads, archives and readers."""
