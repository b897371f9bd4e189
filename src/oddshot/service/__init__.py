"""The REST service `oddshot serve`: adapt to a task and score its rows over HTTP."""
