"""Read CSV, Parquet and ARFF files and data frames as Arrow tables, and labelled files as tasks."""

from oddshot.data.tables.conversion import as_table
from oddshot.data.tables.labels import parse_labels
from oddshot.data.tables.readers import read_table, stream_table
from oddshot.data.tables.tasks import find_files, read_support, read_tasks

__all__ = ["as_table", "find_files", "parse_labels", "read_support", "read_table", "read_tasks", "stream_table"]
