"""Ten questions of users, a script each; `python -m examples` makes the gallery of them."""
