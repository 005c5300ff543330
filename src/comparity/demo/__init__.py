"""A simulated year of hiring, audited from plan to retraining."""
