"""The paper's flow-level simulator (section 5.5) and its max-min descendant. Uses hedera/ unchanged."""
