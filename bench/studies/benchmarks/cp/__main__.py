"""``python -m hpcdispatch.bench.studies.benchmarks.cp``."""

from . import main

if __name__ == "__main__":
    main()
