"""Exercises that answer: one module per lesson.

A lesson imports its own as `exercise`; each exercise in it has `check(answer)`, `hint()` and `solution()`, and
`exercise.progress()` counts those that are solved. What an exercise is made of: `checking.py`, which IPython tells
which cells ended in an error.
"""
