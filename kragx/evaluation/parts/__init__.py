"""Work in parts: stretches of questions that can be matched alone, in this process or in others."""
