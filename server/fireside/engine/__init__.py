"""The app's side of the core: requests as resumable values, supervision, admission."""
