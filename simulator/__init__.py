"""The paper's flow-level simulator (Hedera section 5.5) and its max-min descendant. Uses hedera/ unchanged."""
