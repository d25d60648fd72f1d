"""Age-weighted look-ahead: plans of the most urgent jobs, and EASY's shadow schedule for the guarantees."""
