"""Independent computations that tests hold the package against."""
