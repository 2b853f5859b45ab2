"""What the commands of every backend share: execution on many processors, options, progress, paper against ours."""
