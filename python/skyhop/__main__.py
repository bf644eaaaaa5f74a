"""`python -m skyhop`."""

from skyhop.program import main

if __name__ == "__main__":
    main()
