"""``python -m hpcdispatch.bench.benchmarks.engine``."""

from .engine_rates import main

if __name__ == "__main__":
    main()
