"""Models, tokenizers and templates: what is trained."""
