"""Every question about an upload, a thin file a command: what it takes, and how it is answered."""
