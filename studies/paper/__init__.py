"""The paper's figures and tables, and questions that it leaves open."""
