"""Result folders: `written` whole or not at all (`lock`, `sealed`), and `opened` as what they are.

Besides results they hold what their numbers need of elsewhere.
"""
