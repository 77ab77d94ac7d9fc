"""What people have in hand when they come: 45 forms, and the same content in JSON Lines."""
