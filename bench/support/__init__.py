"""What the benchmarks share; bench/README.md says how they measure."""
