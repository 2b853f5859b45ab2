"""Schedulers as an assignment: templates, checks that explain mistakes, milestones towards Hedera, and grading."""
