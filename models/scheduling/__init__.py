"""What every planner shares: the problem of one instant, who fits where and when, and list schedules."""
