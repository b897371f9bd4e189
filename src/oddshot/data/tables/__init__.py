"""CSV, Parquet, ARFF and data frames -> Arrow tables and tasks."""

from oddshot.data.tables.frames import as_table
from oddshot.data.tables.labels import parse_labels
from oddshot.data.tables.readers import read_table, stream_table
from oddshot.data.tables.tasks import find_files, read_support, read_tasks

__all__ = ["as_table", "find_files", "parse_labels", "read_support", "read_table", "read_tasks", "stream_table"]
