"""Jobs of other operators as TrainingJobs, and a sentence for all that has no place in one."""
