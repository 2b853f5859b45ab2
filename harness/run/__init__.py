"""One run under way: what was asked, the controller, the senders, what watches and what disturbs them."""
