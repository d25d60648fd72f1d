"""``python -m hpcdispatch.bench.studies.benchmarks.engine``."""

from .engine_rates import main

if __name__ == "__main__":
    main()
