"""python -m motlm.cli"""

from . import main

main()
