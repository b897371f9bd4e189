"""The app: a local web page on which a person labels a few rows of a table and sees all rows ranked again."""
