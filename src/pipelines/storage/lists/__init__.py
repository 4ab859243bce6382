"""What pages and reports list: items with what tells them apart, counted over bounded numbers."""
