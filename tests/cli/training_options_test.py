"""Options of training through the program: rules, plateau, weights of classes, mean of the weights, left-out steps."""
import unittest

from program import ProgramTest


class TrainingOptionsTest(ProgramTest):
    def end(self, *keys):
        sets = [word for key in keys for word in ("--set", key)]
        *events, end = self.good("train", "tiny.toml", "--json", *sets).events()
        return [event for event in events if event["event"] == "epoch"], end

    def test_rules_learn(self):
        for rule, rate in (("adagrad", 0.02), ("rmsprop", 0.002), ("lion", 0.003), ("lamb", 0.1), ("muon", 0.1)):
            epochs, _ = self.end(f"train.rule={rule}", f"train.learning_rate={rate}", "train.epochs=4")
            self.assertLess(epochs[-1]["train"]["loss"], 0.7 * epochs[0]["train"]["loss"], rule)

    def test_rules_of_whole_layers(self):
        for rule in ("lamb", "muon"):
            rates = (f"train.rule={rule}", "train.epochs=4", "train.groups=[{ parameters = '*.bias', rate = 0.5, decay = 0 }]")
            _, whole = self.end(*rates)
            _, first = self.end(*rates[::2], rates[0], "train.epochs=2")
            again = self.good("train", "--resume", first["run"], "--set", "train.epochs=4", "--json").events()[-1]
            self.assertEqual(again["test"], whole["test"], rule)
            told = self.yoke("train", "tiny.toml", "--set", f"train.rule={rule}", "--set", "node.executor=hogwild").error
            self.assertIn(f"{rule} looks at whole layers, so it needs executor single", told)
            told = self.yoke("train", "tiny.toml", "--set", f"train.rule={rule}", "--set", "node.devices=emulated:0").error
            self.assertIn(f"rule {rule} runs on the CPU alone", told)

    def test_a_plateau_drops_the_rate(self):
        epochs, _ = self.end("train.learning_rate=1e-15", "train.epochs=4", "train.schedule={name='plateau', patience=1, metric='accuracy'}")
        self.assertEqual([f"{epoch['learning_rate']:.0e}" for epoch in epochs], ["1e-15", "1e-15", "1e-16", "1e-17"])

    def test_gradients_are_accumulated_without_replicas(self):
        _, whole = self.end("train.batch=60")
        _, parts = self.end("train.batch=15", "cluster.strategy=allreduce", "cluster.accumulate=4")
        self.assertAlmostEqual(parts["test"]["loss"], whole["test"]["loss"], places=4)

    def test_the_loss_alone_is_shaped(self):
        still = ("train.learning_rate=1e-15", "train.epochs=1")
        epochs, plain = self.end(*still)
        for key in ("train.class_weights=balanced", "train.class_weights={ 3 = 4 }", "train.label_smoothing=0.3"):
            shaped, end = self.end(*still, key)
            self.assertEqual(end["test"], plain["test"], key)
            self.assertNotEqual(shaped[0]["train"], epochs[0]["train"], key)

    def test_the_mean_of_the_weights_is_saved(self):
        _, end = self.end("train.average=0.99")
        _, plain = self.end()
        self.assertNotEqual(end["test"], plain["test"])
        self.assertEqual(self.good("eval", end["run"], "--json").events()[-1]["metrics"], end["test"])

    def test_the_rest_of_an_epoch_may_be_left_out(self):
        _, end = self.end("train.drop_last=true")
        self.assertEqual(end["step"], 2 * (300 // 32))

    def test_words_of_other_programs(self):
        for word, ours in (("train.lr=1", "learning_rate"), ("train.optimizer=adam", "rule"), ("train.grad_clip=1", "clip_norm")):
            self.assertIn(f"did you mean '{ours}'?", self.yoke("train", "tiny.toml", "--set", word).error)


if __name__ == "__main__":
    unittest.main()
