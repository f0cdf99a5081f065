from bopp.cli import main

main()
