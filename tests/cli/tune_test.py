"""yoke info --tune: measures the algorithms to convolve, and writes a job that keeps the choices."""
import os
import unittest

from program import ProgramTest, TINY

# Few examples: under a sanitizer these convolutions run on plain loops.
LENET = (TINY.replace('name = "mlp"\nwidths = [16]', 'name = "lenet"').replace("epochs = 2", "epochs = 1")
         .replace("train_size = 300", "train_size = 64").replace("test_size = 60", "test_size = 20"))
PLAIN = os.environ.get("YOKE_KERNELS") == "reference"  # then every algorithm is the reference's


class TuneTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("lenet.toml", LENET)

    def test_every_way_of_every_convolution_is_measured(self):
        info, tune = self.good("info", "lenet.toml", "--tune", "--json").events()
        self.assertEqual((info["event"], tune["event"]), ("info", "tune"))
        rows = [(row["layer"], row["algorithm"]) for row in tune["algorithms"]]
        algorithms = ("auto", "direct", "lower_batch", "lower_image")
        self.assertEqual(rows, [(layer, algorithm) for layer in ("convolution1", "convolution2") for algorithm in algorithms])
        self.assertEqual(sum(row["fastest"] for row in tune["algorithms"]), 2)
        self.assertTrue(all(row["seconds"] > 0 for row in tune["algorithms"]))

    def test_the_written_job_is_accepted_whatever_is_fastest(self):
        layers = ('layer = [{type = "convolution", outputs = 4, kernel = 5, algorithm = "lower_batch", partitions = 3}, '
                  '{type = "convolution", outputs = 4, kernel = 3, algorithm = "%s"}, {type = "flatten"}, {type = "linear", outputs = 10}]')
        for model in (layers % "auto", layers % "lower_batch" + "\npartitions = 2", layers % "auto" + "\nlowered_images = 2",
                      'name = "lenet"\nalgorithms = {convolution2 = "lower_batch"}\npartitions = 2'):
            self.write("given.toml", LENET.replace('name = "lenet"', model))
            *_, tune = self.good("info", "given.toml", "--tune-to", "tuned.toml", "--json").events()
            fastest = [row["algorithm"] == "lower_batch" for row in tune["algorithms"] if row["fastest"]]
            info, *_ = self.good("info", "tuned.toml", "--json").events()
            kernels = [layer["kernel"] for layer in info["layers"] if layer["type"] == "convolution"]
            if not PLAIN:
                self.assertEqual(["lowered" in kernel and "partitions" in kernel for kernel in kernels],
                                 [lowers and (not i or "\npartitions" in model) for i, lowers in enumerate(fastest)])

    def test_a_run_of_the_written_job_keeps_its_choices(self):
        self.good("info", "lenet.toml", "--tune-to", "tuned.toml")
        self.good("train", "tuned.toml", "--run", "run")
        with open(self.path("run/job.toml")) as job:
            self.assertRegex(job.read(), r"(?s)algorithms.*convolution1.*convolution2")
        self.good("eval", "run/last")

    def test_a_chosen_way_is_taken(self):
        self.write("lowered.toml", LENET.replace('"lenet"', '"lenet"\nalgorithms = {convolution2 = "lower_batch"}'))
        (info,) = self.good("info", "lowered.toml", "--json").events()
        kernels = {layer["name"]: layer["kernel"] for layer in info["layers"]}
        self.assertIn("reference" if PLAIN else "lowered", kernels["convolution2"])
        self.assertNotIn("lowered", kernels["convolution1"])

    def test_lowering_has_settings(self):
        lenet = LENET.replace('"lenet"', '"lenet"\nalgorithms = {convolution2 = "lower_batch"}\npartitions = 2\nlowered_images = 3')
        self.write("lowered.toml", lenet)
        (info,) = self.good("info", "lowered.toml", "--json").events()
        kernels = {layer["name"]: layer["kernel"] for layer in info["layers"]}
        if not PLAIN:
            self.assertEqual(kernels["convolution2"], "lowered, 2 partitions, 3 images at a time")
        self.assertNotIn("lowered", kernels["convolution1"])
        layers = '[{type = "convolution", outputs = 4, kernel = 5, algorithm = "%s", %s}, {type = "flatten"}, {type = "linear", outputs = 10}]'
        for model, said in (('name = "lenet"\npartitions = 2', "model.partitions has no effect: no convolution has the algorithm"),
                            ('name = "lenet"\nlowered_images = 1', "model.lowered_images has no effect"),
                            ("layer = " + layers % ("lower_batch", "partitions = 2") + "\npartitions = 3", "each convolution with the algorithm"),
                            ("layer = " + layers % ("direct", "partitions = 2"), "partitions has no effect: the layer's algorithm is not"),
                            ("layer = " + layers % ("lower_batch", "lowered_images = 0"), "lowered_images")):
            self.write("wrong.toml", LENET.replace('name = "lenet"', model))
            result = self.yoke("info", "wrong.toml")
            self.assertEqual(result.code, 2, model)
            self.assertIn(said, result.error)

    def test_mistakes(self):
        for algorithms, said in (('{convolution9 = "direct"}', "convolution9"), ('{linear1 = "direct"}', "no layer of this model with an algorithm"),
                                 ('{convolution1 = "fast"}', "model.algorithms.convolution1: unknown value 'fast'")):
            self.write("wrong.toml", LENET.replace('"lenet"', '"lenet"\nalgorithms = ' + algorithms))
            result = self.yoke("info", "wrong.toml")
            self.assertEqual(result.code, 2, algorithms)
            self.assertIn(said, result.error)


if __name__ == "__main__":
    unittest.main()
