"""Questions about an upload that are answered in another way than the others."""
