"""The estimators of scikit-learn: its own checks, and what its tools do with them."""
import module

module.need()

import os
import pickle
import unittest
import unittest.mock
import warnings

import joblib
import numpy as np
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_multilabel_classification
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score, cross_validate
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from threadpoolctl import threadpool_limits

import yoke

ESTIMATORS = (yoke.YokeClassifier, yoke.YokeMultiLabelClassifier, yoke.YokeRegressor)


class EstimatorsTest(unittest.TestCase):
    def test_scikit_learns_own_checks(self):
        warnings.simplefilter("ignore")
        for make in ESTIMATORS:
            with self.subTest(make.__name__):
                check_estimator(make(random_state=1))

    def test_digits(self):
        x, y = load_digits(return_X_y=True)
        scores = cross_val_score(yoke.YokeClassifier(hidden_layer_sizes=(64,), epochs=20, random_state=1), x / 16, y, cv=3)
        self.assertGreater(scores.mean(), 0.93)

    def test_numbers(self):
        x, y = load_diabetes(return_X_y=True)
        fitted = yoke.YokeRegressor(hidden_layer_sizes=(32,), epochs=100, random_state=1).fit(x, y)
        self.assertGreater(fitted.score(x, y), 0.3)
        pair = yoke.YokeRegressor(epochs=50, random_state=1).fit(x, np.stack([y, 2 * y], axis=1)).predict(x)
        self.assertEqual(pair.shape, (len(x), 2))

    def test_searches_and_pipelines(self):
        x, y = load_digits(return_X_y=True)
        pipeline = make_pipeline(StandardScaler(), yoke.YokeClassifier(epochs=3, random_state=1))
        search = GridSearchCV(pipeline, {"yokeclassifier__hidden_layer_sizes": [(16,), (64,)]}, cv=2, n_jobs=2).fit(x, y)
        self.assertEqual(search.best_params_["yokeclassifier__hidden_layer_sizes"], (64,))

    def test_equal_states_train_equally(self):
        x, y = load_digits(return_X_y=True)
        a, b = (yoke.YokeClassifier(epochs=2, random_state=7).fit(x, y) for _ in range(2))
        np.testing.assert_array_equal(a.predict_proba(x), b.predict_proba(x))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(a)).predict_proba(x), a.predict_proba(x))

    def test_a_job_replaces_keys(self):
        x, y = load_digits(return_X_y=True)
        linear = yoke.YokeClassifier(epochs=2, random_state=1, job={"model": {"name": "linear"}, "train": {"epochs": 3}}).fit(x, y)
        self.assertEqual([*linear.model_.weights()], ["linear1.weight", "linear1.bias"])
        self.assertEqual(linear.n_iter_, 3)

    def test_sets_of_labels(self):
        x, y = make_multilabel_classification(500, n_features=20, n_classes=5, random_state=1)
        for matrix in (y, scipy.sparse.csr_matrix(y)):
            fitted = yoke.YokeMultiLabelClassifier(epochs=30, random_state=1).fit(x, matrix)
            self.assertGreater((fitted.predict(x) == y).mean(), 0.85)

    def test_defaults_are_near_scikit_learns_network(self):
        random = np.random.default_rng(0)
        scales = np.array([1, 100, 0.01, 5, 1, 1000])
        x = random.normal(size=(1500, 6))
        amounts = x * scales + scales, np.exp(x[:, 0]) + x[:, 1] * x[:, 2] + random.normal(0, 0.3, 1500)
        for name, (x, y) in {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True), "cancer": load_breast_cancer(return_X_y=True),
                             "digits": load_digits(return_X_y=True), "diabetes": load_diabetes(return_X_y=True), "amounts": amounts}.items():
            numbers = name in ("diabetes", "amounts")
            ours, theirs = (yoke.YokeRegressor, MLPRegressor) if numbers else (yoke.YokeClassifier, MLPClassifier)
            folds = (KFold if numbers else StratifiedKFold)(3, shuffle=True, random_state=1)
            with threadpool_limits(1):  # scikit-learn's network gains nothing by more
                score, other = (cross_val_score(one, x, y, cv=folds).mean()
                                for one in (ours(random_state=1), make_pipeline(StandardScaler(), theirs(random_state=1))))
            with self.subTest(name):
                self.assertGreater(score, other - 0.02)
                self.assertGreater(score, 0.3 if numbers else 0.93)

    def test_partial_fits(self):
        x, y = load_digits(return_X_y=True)
        parts = yoke.YokeClassifier(random_state=1)
        for turn in range(15):
            for at in range(0, 1500, 500):
                parts.partial_fit(x[at:at + 500], y[at:at + 500], classes=range(10) if turn == 0 else None)
        self.assertGreater(parts.score(x[1500:], y[1500:]), 0.85)
        self.assertEqual((parts.n_iter_, len(parts.loss_curve_)), (45, 45))
        self.assertLess(parts.loss_curve_[-1], parts.loss_curve_[0])
        parts.partial_fit(x[y < 3], y[y < 3])  # only some of the classes
        self.assertEqual(parts.predict_proba(x[:5]).shape, (5, 10))
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(parts)).predict(x), parts.predict(x))

    def test_partial_fits_of_numbers_and_of_sets(self):
        x, y = load_diabetes(return_X_y=True)
        numbers = yoke.YokeRegressor(random_state=1)
        for _ in range(40):
            numbers.partial_fit(x[:200], y[:200]).partial_fit(x[200:], y[200:])
        self.assertGreater(numbers.score(x, y), 0.4)
        unit = numbers.model_._loaded.target_mean
        np.testing.assert_allclose(unit, [y[:200].mean()])
        x, y = make_multilabel_classification(500, n_features=20, n_classes=5, random_state=1)
        for matrix in (x, scipy.sparse.csr_matrix(x)):
            sets = yoke.YokeMultiLabelClassifier(random_state=1)
            for _ in range(30):
                sets.partial_fit(matrix[:300], y[:300]).partial_fit(matrix[300:], y[300:])
            self.assertGreater((sets.predict(matrix) == y).mean(), 0.8)

    def test_a_warm_start_goes_on(self):
        x, y = load_digits(return_X_y=True)
        for make, target in ((yoke.YokeClassifier, y), (yoke.YokeRegressor, y.astype(float))):
            warm = make(epochs=3, warm_start=True, random_state=1).fit(x, target)
            cold = warm.loss_curve_
            warm.fit(x, target)
            self.assertLess(warm.loss_curve_[0], 0.8 * cold[0])
            self.assertLess(warm.loss_curve_[-1], cold[-1])
            self.assertEqual(warm.n_iter_, 3)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(warm)).predict(x), warm.predict(x))

    def test_weights_count(self):
        random = np.random.default_rng(1)
        x = random.normal(size=(400, 2))
        y = (x[:, 0] + random.normal(0, 2, 400) > 0).astype(int)
        plain = yoke.YokeClassifier(random_state=1).fit(x, y)
        ones = yoke.YokeClassifier(random_state=1).fit(x, y, sample_weight=np.ones(400))
        np.testing.assert_array_equal(plain.predict_proba(x), ones.predict_proba(x))
        for weights in (np.where(y == 1, 3, 1), np.where(y == 1, 2.7, 0.9)):  # repeated, and weighed
            heavy = yoke.YokeClassifier(random_state=1).fit(x, y, sample_weight=weights)
            self.assertGreater(heavy.predict(x).mean(), plain.predict(x).mean() + 0.1)
            by_class = yoke.YokeClassifier(class_weight={0: weights[y == 0][0], 1: weights[y == 1][0]}, random_state=1).fit(x, y)
            np.testing.assert_array_equal(by_class.predict_proba(x), heavy.predict_proba(x))
        rare = x[:, 0] > 1.2
        balanced = yoke.YokeClassifier(class_weight="balanced", random_state=1).fit(x, rare)
        self.assertGreater(balanced.predict(x)[rare].mean(), 0.9)
        left_out = yoke.YokeRegressor(random_state=1).fit(x, np.where(rare, 1e4, x[:, 0]), sample_weight=~rare)
        self.assertLess(np.abs(left_out.predict(x)).max(), 100)

    def test_small_networks_take_one_thread(self):
        x, y = load_digits(return_X_y=True)
        self.assertEqual(yoke.YokeClassifier(epochs=1).fit(x, y).model_.job["node"]["threads"], 1)

    def test_fits_side_by_side_share_the_cores(self):
        x, y = load_digits(return_X_y=True)
        wide = yoke.YokeClassifier(hidden_layer_sizes=(512, 512), epochs=1, random_state=1)
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("OMP_NUM_THREADS", None)
            self.assertNotIn("threads", wide.fit(x, y).model_.job["node"])  # one alone takes them all
            fits = cross_validate(wide, x, y, cv=2, n_jobs=2, return_estimator=True)["estimator"]
        for fitted in fits:
            self.assertEqual(fitted.model_.job["node"]["threads"], max(1, joblib.cpu_count() // 2))


if __name__ == "__main__":
    unittest.main()
