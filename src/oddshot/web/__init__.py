"""What the app and the service share: who may enter, how much, and how mistakes are answered."""
