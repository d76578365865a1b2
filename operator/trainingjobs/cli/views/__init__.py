"""What is shown of jobs: functions of manifests alone, which ask nobody and write nothing."""
