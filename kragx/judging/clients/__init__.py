"""What asks a model: the openai client, LangChain chat models, and a script for tests."""
