"""Folders of images: the folder above names the class, folders train, val and test are splits, in archives too; formats that are not read."""
import os
import struct
import tarfile
import unittest

from program import ProgramTest, png

JOB = """[data]
format = "image-folder"
train = "%s"
channels = 1
[model]
name = "mlp"
widths = [8]
[train]
epochs = 2
batch = 8
learning_rate = 0.1
[node]
threads = 1
"""


class ImageSplitsTest(ProgramTest):
    def images(self, below, count):
        for kind, grey in (("bright", 200), ("dark", 20)):
            folder = self.path(f"{below}/{kind}")
            os.makedirs(folder)
            for i in range(count):
                with open(f"{folder}/{i}.png", "wb") as out:
                    out.write(png(grey + i))

    def test_folders_are_splits(self):
        for name, count in (("train", 20), ("val", 6), ("test", 4)):
            self.images("photos/set/" + name, count)
        with tarfile.open(self.path("photos.tar"), "w") as archive:
            archive.add(self.path("photos"), "photos")
        for source in ("photos", "photos.tar"):
            self.write("job.toml", JOB % source)
            run = "r-" + source
            out = self.good("train", "job.toml", "--run", run).out
            self.assertIn("images by folder: 40 training, 12 validation, 8 test", out)
            self.assertIn("40 training, 12 validation and 8 test examples", out)
            self.assertEqual(self.good("eval", run, "--json").events()[-1]["examples"], 8)
            self.assertEqual(self.good("eval", run, source, "--json").events()[-1]["examples"], 8)
            self.assertEqual(len(self.good("predict", run, source, "--json").events()), 60)
        result = self.yoke("train", "job.toml", "--set", "data.validation_share=0.1")
        self.assertEqual(result.code, 2)
        self.assertIn("the training files hold validation examples, too", result.error)

    def test_one_split_or_none_is_no_split(self):
        self.images("train", 8)
        self.write("job.toml", JOB % "train")
        self.assertNotIn("images by folder", self.good("train", "job.toml", "--set", "data.test_share=0.25").out)
        os.makedirs(self.path("only"))
        os.rename(self.path("train"), self.path("only/train"))
        self.write("job.toml", JOB % "only")
        self.assertIn("16 training and 0 test examples", self.good("train", "job.toml", "--run", "r").out)
        result = self.yoke("eval", "r")
        self.assertEqual(result.code, 2)
        self.assertIn("the run has no test data", result.error)

    def test_a_class_without_training_images(self):
        for name in ("train", "test"):
            self.images("d/" + name, 4)
        os.rename(self.path("d/train/dark"), self.path("d/train/black"))
        self.write("job.toml", JOB % "d")
        result = self.yoke("train", "job.toml")
        self.assertEqual(result.code, 2)
        self.assertIn("class 'dark' has images for validation or tests, and none for training", result.error)

    def test_other_formats_are_named(self):
        self.images("d", 4)
        for name, content in (("GIF", b"GIF89a\1\0\1\0"), ("WebP", b"RIFF\x1a\0\0\0WEBPVP8L"), ("TIFF", b"II*\0\x08\0\0\0"),
                              ("BMP", b"BM" + struct.pack("<IIIIII", 58, 0, 54, 40, 1, 1) + b"\0" * 32)):
            with open(self.path("d/dark/other"), "wb") as out:
                out.write(content)
            self.write("job.toml", JOB % "d")
            result = self.yoke("train", "job.toml")
            self.assertEqual((result.code, result.error.count("\n")), (2, 1), result.error)
            self.assertIn(f"d/dark/other: a {name} image; expected JPEG or PNG", result.error)


if __name__ == "__main__":
    unittest.main()
