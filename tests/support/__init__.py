"""What several test files share: stores made by hand, the doors into cyzarr, comparison of results."""
