"""The applications that come with Penstock. Importing this loads none: every Python worker of their operators does."""
