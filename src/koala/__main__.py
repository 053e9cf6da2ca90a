"""`python -m koala` is `koala`."""

from koala.cli import main

main()
