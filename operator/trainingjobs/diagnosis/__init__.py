"""From what the ranks report, what is seen of their pods, and the time to findings: pure."""
