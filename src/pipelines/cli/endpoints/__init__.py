"""`pipelines endpoints` and `pipelines cassette`: live services behind tools."""
