"""Random images with labels as NumPy's files, written without NumPy: machines with a GPU may lack it."""
import math
import random
import struct


def write_array(path, kind, shape, rows):
    """A .npy file of this type; rows: the bytes of each."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        file.writelines(rows)


def image_data(folder, image, count, classes):
    """The data section of so many images of a shape such as (3, 224, 224), whose labels take turns; the files are made if they are missing."""
    x, y = (folder / f"{'x'.join(map(str, image))}-{count}.{part}.npy" for part in "xy")
    if not y.exists():
        numbers, size = random.Random(1), math.prod(image)
        write_array(x, "|u1", (count, *image), (numbers.randbytes(size) for _ in range(count)))
        write_array(y, "<i4", (count,), (struct.pack("<i", i % classes) for i in range(count)))
    return {"format": "numpy", "train": [str(x), str(y)], "task": "classes"}
