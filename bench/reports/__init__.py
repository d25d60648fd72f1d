"""Reports on results: the page, tables, and figures for the screen and for papers."""
