"""Pages of results: tables, figures and verdicts that are made from the files of runs."""
