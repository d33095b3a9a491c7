"""Models, tokenizers and templates."""
