"""The model that ships with the package: meta-trained on synthetic tasks, for tables of any width."""
