"""The sentence that the whole series works on: six tokens, each embedded in three dimensions.

Sentence and numbers are those of Sebastian Raschka, "Build a Large Language Model (From Scratch)" (Manning, 2024),
chapter 3 (repository rasbt/LLMs-from-scratch). The numbers are small: every result can be checked by hand.
"""

import torch

TOKENS = ("Your", "journey", "starts", "with", "one", "step")

INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],  # Your
        [0.55, 0.87, 0.66],  # journey
        [0.57, 0.85, 0.64],  # starts
        [0.22, 0.58, 0.33],  # with
        [0.77, 0.25, 0.10],  # one
        [0.05, 0.80, 0.55],  # step
    ]
)  # (T, d_in) = (6, 3)
