"""A history as a page: lines of each metric, drawn as SVG, with what changed; no script in it."""
