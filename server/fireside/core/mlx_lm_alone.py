"""mlx-lm in a sixth of the time and half of the memory, without what only tokenizers and downloads need.

The core gets tokens and files. mlx-lm imports transformers and huggingface_hub at its top all the same, for
names that none of the functions called here uses.
"""

import importlib

from fireside.stand_ins import stand_ins


def import_mlx_lm() -> None:
    """Load mlx-lm. Call it once the BLAS is in place, before anything else imports it.

    Raises:
        ImportError: it or MLX is not installed, or does not run on this machine.
    """
    with stand_ins("transformers", "transformers.tokenization_utils_base", "huggingface_hub"):
        importlib.import_module("mlx_lm.generate")
