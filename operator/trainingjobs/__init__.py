"""The TrainingJob Operator: see ARCHITECTURE.md for the map."""

__version__ = "0.1.0"
