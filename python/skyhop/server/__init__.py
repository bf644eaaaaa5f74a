"""The server behind the page: lists runs, serves their files, checks scenarios and runs them in processes of their own."""
