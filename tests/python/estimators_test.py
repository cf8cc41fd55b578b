"""The estimators of scikit-learn: its own checks, and what its tools do with them."""
import module

module.need()

import pickle
import unittest
import warnings

import numpy as np
import scipy.sparse
from sklearn.datasets import load_diabetes, load_digits, make_multilabel_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

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


if __name__ == "__main__":
    unittest.main()
