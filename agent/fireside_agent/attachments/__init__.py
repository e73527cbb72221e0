"""Files that come with messages: checked, stored by the hash of their content, served, collected."""
