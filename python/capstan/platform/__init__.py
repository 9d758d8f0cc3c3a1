"""What a program needs besides graphs: flags, logs, files, versions."""
