"""The constraint-programming dispatchers PCP and HCP (Galleguillos et al., CP 2019)."""
