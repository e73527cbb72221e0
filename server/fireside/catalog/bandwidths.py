"""How fast chips read their memory, in gigabytes a second, as their makers state it."""

APPLE = {
    "M1": 68, "M1 Pro": 200, "M1 Max": 400, "M1 Ultra": 800,
    "M2": 100, "M2 Pro": 200, "M2 Max": 400, "M2 Ultra": 800,
    "M3": 100, "M3 Pro": 150, "M3 Max": 400, "M3 Ultra": 819,
    "M4": 120, "M4 Pro": 273, "M4 Max": 546,
    "M5": 153, "M5 Pro": 307, "M5 Max": 460,
}  # fmt: skip

APPLE_FEWER_CORES = {("M3 Max", 14): 300, ("M4 Max", 14): 410}
"""By the number of CPU cores, where a smaller version of the chip has less."""

NVIDIA = {
    "GB200": 8000, "B200": 8000, "H200": 4800, "GH200": 4000, "H100 NVL": 3900, "H100 PCIe": 2000,
    "H100": 3350,
    "A100-SXM4-40GB": 1555, "A100-PCIE-40GB": 1555, "A100": 2000, "A800": 2000, "L40S": 864, "L40": 864,
    "L4": 300, "A10G": 600, "A10": 600, "T4": 320, "V100": 900, "GB10": 273,
    "RTX PRO 6000": 1792, "RTX 6000 Ada": 960, "RTX A6000": 768, "RTX A5000": 768, "RTX A4000": 448,
    "RTX 5090": 1792, "RTX 5080": 960, "RTX 5070 Ti": 896, "RTX 5070": 672, "RTX 5060 Ti": 448,
    "RTX 5060": 448,
    "RTX 4090": 1008, "RTX 4080 SUPER": 736, "RTX 4080": 717, "RTX 4070 Ti SUPER": 672, "RTX 4070 Ti": 504,
    "RTX 4070": 504, "RTX 4060 Ti": 288, "RTX 4060": 272,
    "RTX 3090 Ti": 1008, "RTX 3090": 936, "RTX 3080 Ti": 912, "RTX 3080": 760, "RTX 3070": 448,
    "RTX 3060": 360,
}  # fmt: skip
"""By what is in the name that the driver gives."""


def of_apple(chip: str, cores: int | None) -> int | None:
    """Of `Apple M3 Max` with so many CPU cores, in bytes a second; None for a chip that is not known."""
    name = chip.removeprefix("Apple ").strip()
    speed = APPLE_FEWER_CORES.get((name, cores or 0), APPLE.get(name))
    return None if speed is None else speed * 10**9


def of_nvidia(card: str) -> int | None:
    """Of a card by its name, in bytes a second; None for one that is not known."""
    found = max((name for name in NVIDIA if name in card), key=len, default=None)
    return None if found is None else NVIDIA[found] * 10**9
