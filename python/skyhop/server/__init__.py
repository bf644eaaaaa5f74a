"""The server behind the page: lists runs, gives their files, checks scenarios, runs them in their own processes."""
