"""A report drawn as a heatmap: HTML, SVG, CSV and pages."""
