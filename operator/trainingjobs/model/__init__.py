"""What a TrainingJob is and what is seen of it: values alone, which nothing of ours is below."""
