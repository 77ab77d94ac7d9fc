"""A question and a document: what suggests them, and what people have said of them."""
