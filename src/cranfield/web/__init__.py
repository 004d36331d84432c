"""The local web page; a page and its JSON have the same data."""
