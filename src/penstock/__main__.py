"""The command line as `python -m penstock`."""

from penstock.service.cli import main

main()
