"""What virtual time costs and whether it is true, and what no test notices: each module is a command."""
