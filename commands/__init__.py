"""What the commands of every backend share: parallel execution, options, progress, the paper against ours."""
