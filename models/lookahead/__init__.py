"""Age-weighted look-ahead: the plan of the most urgent jobs, and the shadow schedule behind its promises."""
