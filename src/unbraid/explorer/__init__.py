"""The explorer: a page that runs the networks of a run in the browser."""
