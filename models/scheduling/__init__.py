"""The problem of one instant, and what every planner of it shares: profiles, placements and list schedules."""
