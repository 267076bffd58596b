"""The data types: how their values are stored, and which fill values they have."""
