"""``python -m hpcdispatch.bench.studies.benchmarks.slurm``."""

from . import main

if __name__ == "__main__":
    main()
