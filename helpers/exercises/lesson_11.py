"""Exercises of lesson 11: patches, and how many there are."""

import torch

from .checking import Exercises, Mistake, Question, Task


def my_patches(image, size):
    rows, columns = image.shape[0] // size, image.shape[1] // size
    # (row of patches, row in it, column of patches, column in it)
    patches = image.reshape(rows, size, columns, size)
    return patches.transpose(1, 2).reshape(rows * columns, size * size)


def _image(height, width, size):
    return lambda g: (torch.randn(height, width, generator=g), size)


def _arranged(*order):
    def cut(image, size):
        rows, columns = image.shape[0] // size, image.shape[1] // size
        return image.reshape(rows, size, columns, size).permute(*order).reshape(rows * columns, size * size)

    return cut


exercise = Exercises(
    patches=Task(
        my_patches,
        show=("image", "size"),
        axes=("patch", "pixel"),
        cases={
            "4 x 4, patches of 2": lambda g: (torch.arange(16.0).reshape(4, 4), 2),
            "a single patch": _image(3, 3, 3),
            "patches of one pixel": _image(2, 3, 1),
            "an image wider than tall": _image(4, 6, 2),
            "an image taller than wide": _image(9, 3, 3),
            "12 x 12, patches of 4": _image(12, 12, 4),
            "black and white": lambda g: (torch.randint(0, 2, (4, 8), generator=g).float(), 2),
            "an image that is to be trained": lambda g: (torch.randn(4, 6, generator=g, requires_grad=True), 2),
            "float64": lambda g: (torch.randn(6, 4, generator=g).double(), 2),
        },
        right="A row per patch, patches from left to right and from top to bottom, pixels likewise.",
        mistakes=[
            Mistake(
                lambda image, size: image.reshape(-1, size * size),
                "the shape is right, but these are not patches: the pixels are dealt out in the order of reading, "
                'so a "patch" is a strip of a line. Split both sides first, then transpose.',
            ),
            Mistake(_arranged(2, 0, 1, 3), "the patches come column by column. Left to right first, then down."),
            Mistake(
                _arranged(0, 2, 3, 1), "each patch is mirrored along its diagonal: rows of pixels first, then columns."
            ),
            Mistake(
                _arranged(2, 0, 3, 1), "the image is transposed: patches column by column, and each of them mirrored."
            ),
        ],
        hints=[
            "Give each side of the image two dimensions: which patch, and which pixel in it.",
            "image.reshape(rows, size, columns, size). The two numbers of the patch must come first.",
            "Then .transpose(1, 2), and reshape to (rows * columns, size * size).",
        ],
    ),
    count=Question(
        "my_count = [64, 256]  # 8 x 8; then 16 times the tokens, squared",
        form="two numbers, [tokens, times]",
        right="patches with a quarter of the side mean 16 times the tokens, and 16 times 16 the entries of the table.",
        mistakes=[
            Mistake(lambda a: float(a[0]) == 8, "8 patches fit along one side. The image has two."),
            Mistake(
                lambda a: float(a[0]) == 1024,
                "1024 is the number of pixels in a patch of 32 x 32, and of patches of 8 x 8. How many patches of 32 "
                "x 32 are there?",
            ),
            Mistake(lambda a: float(a[0]) != 64, "the image has 8 patches along each side. How many is that in all?"),
            Mistake(
                lambda a: float(a[1]) == 16,
                "there are 16 times as many tokens, and the table of weights has a row and a column for each.",
            ),
            Mistake(
                lambda a: float(a[1]) == 1024,
                "1024 is the number of tokens with the small patches. How many times as many numbers does their "
                "table have?",
            ),
            Mistake(
                lambda a: float(a[1]) == 1024**2,
                "1024 times 1024 is the size of the new table. How many times as many is that as 64 times 64?",
            ),
            Mistake(
                lambda a: float(a[1]) != 256,
                "a quarter of the side means four times as many patches along each of the two sides, and each token "
                "is both a row and a column of the table.",
            ),
        ],
        hints=[
            "256 / 32 is 8: that many patches stand side by side, and as many below one another. The table of "
            "weights has a row and a column for each token.",
            "Patches of 8 x 8 pixels: 32 along each side. How many tokens is that, and how many pairs of tokens?",
        ],
    ),
)
