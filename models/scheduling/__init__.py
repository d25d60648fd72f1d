"""The scheduling problem at one instant, and what its solvers share: profiles, placements and list schedules."""
