"""Decisions predicted across sets of subjects, with the error of the prediction carried along."""
