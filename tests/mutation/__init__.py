"""Mutation run: do the tests notice small errors that are made in the source on purpose?

    python -m tests.mutation --sample 600 --seed 0

A mutant is one small change of one module: a comparison moved to its boundary or reversed, + for -, * for /, `and` for
`or`, a `not` or a minus sign left out, another number, string or default, `min` for `max`, a condition negated, a
statement deleted, None returned. All tests run once without a mutant, to learn how long each takes and which functions
it calls. Then a process is forked for each mutant, which replaces the code of that module and runs the tests that call
the changed function, the fastest first. A mutant is killed if one of them fails or takes over MAX_TEST_SECONDS.

Never mutated, because no test could or should notice: docstrings, annotations, imports, `__all__`, decorators,
assertions (they are for the type checker), texts of errors and other f-strings, `strict=True` of zip, branches that
only a GPU takes, and constants that decide on speed or memory but not on results (PERFORMANCE_CONSTANTS).
"""
