"""Other tools: what they have becomes gold and runs, and what kragx finds out stands in them.

Each file knows one of them, and imports it where it is used: `junit` (GitLab, Jenkins and other CI
systems), `mlflow`, `langsmith`, `opentelemetry`, `messages` (chats of OpenAI and Anthropic), `mcp`.
"""
