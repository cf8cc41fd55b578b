"""What tests change in a checkpoint's files, sealed again."""
import array
import json


def sealed(data, at):
    """`data` with its checksum (src/train/files.cc) in the 16 bytes at `at`."""
    mask, zeros = (1 << 64) - 1, data[:at] + b"0" * 16 + data[at + 16:]
    total = len(zeros)
    for i in range(0, len(zeros), 8):
        x = total ^ int.from_bytes(zeros[i:i + 8], "little")
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        total = ((x ^ (x >> 31)) + 0x9E3779B97F4A7C15) & mask
    return zeros[:at] + b"%016x" % total + zeros[at + 16:]


def rewrite(path, change):
    """Replaces the bytes of a file by change(bytes)."""
    with open(path, "rb") as file:
        data = change(file.read())
    with open(path, "wb") as file:
        file.write(data)


def multiply(folder, name, factor):
    """Multiplies all numbers of a .safetensors file of a checkpoint, whose header then belongs to it."""
    def multiplied(data):
        at, begin = data.index(b'checksum":"') + 11, 8 + int.from_bytes(data[:8], "little")
        numbers = array.array("f", data[begin:])
        ruined = sealed(data[:begin] + array.array("f", (x * factor for x in numbers)).tobytes(), at)
        sums.extend((data[at:at + 16], ruined[at:at + 16]))
        return ruined

    sums = []
    rewrite(f"{folder}/{name}", multiplied)
    rewrite(f"{folder}/checkpoint.json", lambda header: sealed_header(header.replace(*sums)))


def change_header(folder, change):
    """Calls change(header) with checkpoint.json as an object."""
    def changed(data):
        header = json.loads(data)
        change(header)
        return sealed_header((json.dumps(header, indent=1) + "\n").encode())

    rewrite(f"{folder}/checkpoint.json", changed)


def sealed_header(header):
    return sealed(header, header.index(b'": "') + 4)
