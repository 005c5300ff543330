"""Run the command line with ``python -m comparity``."""

from comparity.cli import main

if __name__ == "__main__":
    main()
