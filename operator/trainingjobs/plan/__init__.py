"""From a job and what is seen of it to what happens next: pure, total, the same each time."""
