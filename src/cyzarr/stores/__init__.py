"""What a store is asked for, and how its answers are checked."""
