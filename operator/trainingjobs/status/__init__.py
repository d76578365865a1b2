"""From a job, what is seen of it and a verdict to what the resource says: pure."""
