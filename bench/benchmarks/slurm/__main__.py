"""``python -m hpcdispatch.bench.benchmarks.slurm``."""

from . import main

if __name__ == "__main__":
    main()
