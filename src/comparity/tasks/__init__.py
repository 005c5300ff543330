"""Whether rating items or comparing pairs of them needs fewer minutes of judging."""
