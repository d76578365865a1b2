"""One module for each framework: which environment makes its ranks find each other. Pure."""
