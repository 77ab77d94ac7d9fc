"""One HTML file that holds a whole comparison: payload (values), template, styles and script."""
