"""Schedulers as class work: a template, checks that explain, milestones on the way to Hedera, and grading."""
