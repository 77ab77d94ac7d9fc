"""Figures of results, drawn by matplotlib, each file named by what it draws.

drawing.py holds the one look of them all: colours, fonts, panels, names, axes, files, windows.
"""
