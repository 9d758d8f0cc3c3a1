"""Sessions, the cluster they run on, and what this process is in its job."""
