"""One module for a command or a few that belong together; loaded when one of them is called."""
