"""Pictures of a machine and its queue, for ``render_mode="rgb_array"``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..base import FloatArray

Image = NDArray[np.uint8]
#: Pixels. The running jobs fill the left half, and the waiting jobs the right one.
HEIGHT, WIDTH = 192, 256
#: Colours of every second running and waiting job.
_RUNNING = ((38, 92, 150), (92, 144, 196))
_WAITING = ((196, 110, 40), (226, 160, 96))
#: Logarithm of the seconds that fill a half: 10^6 s.
_LONGEST = np.log1p(1e6)


def picture(
    running: tuple[FloatArray, FloatArray],
    waiting: tuple[FloatArray, FloatArray],
) -> Image:
    """Draw jobs as bars on white, one below the other.

    Parameters
    ----------
    running, waiting
        Share of the machine of each job, and its expected seconds until the end or predicted run time.

    Returns
    -------
    Shape (192, 256, 3). A bar's height is its share of the machine, at least one pixel. Its length is the logarithm of
    its seconds. Waiting jobs that need more than one machine together are cut off below.
    """
    image = np.full((HEIGHT, WIDTH, 3), 255, dtype=np.uint8)
    half = WIDTH // 2
    for (shares, seconds), colours, left in ((running, _RUNNING, 0), (waiting, _WAITING, half)):
        top = 0.0
        lengths = np.clip(np.log1p(seconds) / _LONGEST * (half - 2), 1, half - 2).astype(int)
        for number, (share, length) in enumerate(zip(shares.tolist(), lengths.tolist(), strict=True)):
            bottom = top + share * HEIGHT
            first = int(top)
            image[first : max(first + 1, int(bottom)), left : left + length] = colours[number % 2]
            top = bottom
            if top >= HEIGHT:
                break
    return image
