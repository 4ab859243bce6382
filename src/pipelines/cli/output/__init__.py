"""What commands print: text blocks, verdicts, JUnit files, figures."""
