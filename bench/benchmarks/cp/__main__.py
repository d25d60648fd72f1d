"""``python -m hpcdispatch.bench.benchmarks.cp``."""

from . import main

if __name__ == "__main__":
    main()
