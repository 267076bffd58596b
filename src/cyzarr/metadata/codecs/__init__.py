"""One file for each codec; a file holds all that is known of its codec."""
