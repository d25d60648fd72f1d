"""Regressors of scikit-learn and of compatible packages: by name, seeded, on one thread, fitted or not."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import numpy as np

from ..base import FloatArray, InputError
from ..base.checks import shown
from ..base.errors import raised

#: Modules to search for the name of a regressor.
_MODULES = (
    "linear_model",
    "ensemble",
    "tree",
    "neighbors",
    "neural_network",
    "svm",
    "kernel_ridge",
    "gaussian_process",
    "dummy",
)
#: Regressors of other packages, with the package and the option that says what they minimize.
_OTHERS = {"LGBMRegressor": ("lightgbm", "objective"), "XGBRegressor": ("xgboost", "objective")}
#: What regressors by name minimize by default: the absolute error. Their own default is the squared one, which on
#: logarithms aims at the geometric mean and predicts long jobs far too short.
_LOSSES = {
    "HistGradientBoostingRegressor": "absolute_error",
    "GradientBoostingRegressor": "absolute_error",
    "LGBMRegressor": "regression_l1",
    "XGBRegressor": "reg:absoluteerror",
}
#: Options that keep a regressor from printing.
_SILENT = {"lightgbm": {"verbosity": -1}, "xgboost": {"verbosity": 0}, "catboost": {"verbose": 0}}


def regressor(given: Any, loss: str | None) -> Any:
    """Return a regressor, given as an object or by name.

    Parameters
    ----------
    given
        An object with `fit` and `predict`, a model of river, or the name of a class in scikit-learn, LightGBM or
        XGBoost.
    loss
        What it minimizes; ``None``: as the object says, and the absolute error for boosting by name.

    Raises
    ------
    ValueError
        If it is none, or a package is missing.
    """
    _package("sklearn", "'hpcdispatch[learn]'", "it")
    made = given
    if isinstance(given, str):
        if given in _OTHERS:
            made = getattr(_package(_OTHERS[given][0], _OTHERS[given][0], f"estimator {given}"), given, None)
        else:
            modules = (import_module(f"sklearn.{name}") for name in _MODULES)
            made = next(
                (candidate for module in modules if isinstance(candidate := getattr(module, given, None), type)), None
            )
        try:
            made = made and made()
        except TypeError:
            made = None
    elif all(callable(getattr(given, name, None)) for name in ("learn_one", "predict_one")):
        made = _of_river(given)
    # One that stacks others has no method to predict before its first fit.
    kind = "class" if isinstance(made, type) else _kind_of(made)
    predicts = kind == "regressor" or (kind is None and callable(getattr(made, "predict", None)))
    if not predicts or not callable(getattr(made, "fit", None)):
        expected = "a regressor with fit and predict, or the name of one in scikit-learn, LightGBM or XGBoost"
        raise ValueError(f"estimator: expected {expected}, got {shown(given)}")
    wanted = loss if loss is not None else _LOSSES.get(given) if isinstance(given, str) else None
    return made if wanted is None else _minimizing(made, wanted)


def _package(name: str, install: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ValueError(
            f"{what} needs {name if name != 'sklearn' else 'scikit-learn'}: pip install {install}"
        ) from None


def _of_river(model: Any) -> Any:
    """Return a model of river with the interface of scikit-learn."""
    try:
        made = import_module("river.compat").convert_river_to_sklearn(model)
    except Exception as error:  # noqa: BLE001 - river's own errors
        raise ValueError(f"estimator: expected a regressor of river, got {shown(model)}: {raised(error)}") from None
    return made


def _minimizing(made: Any, loss: str) -> Any:
    """Set what a regressor minimizes."""
    last = last_of(made)[1]
    options = _options(last)
    name = next((each for each in ("objective", "loss", "criterion") if each in options), None)
    if name is None:
        raise ValueError(f"loss: {type(last).__name__} has no option loss or objective")
    last.set_params(**{name: loss})
    return made


def _kind_of(estimator: Any) -> Any:
    """Return what scikit-learn calls an estimator, such as ``"classifier"``. ``None`` if it does not say."""
    tags = getattr(estimator, "__sklearn_tags__", None)  # from scikit-learn 1.6 on
    return tags().estimator_type if tags else getattr(estimator, "_estimator_type", None)


def _options(estimator: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = getattr(estimator, "get_params", dict)()
    return parameters


def last_of(estimator: Any) -> tuple[str, Any]:
    """Return the name and the object of the last step of a pipeline; no name and the object itself for any other."""
    name, last = getattr(estimator, "steps", [("", estimator)])[-1]
    return str(name), last


def takes_frames(estimator: Any) -> bool:
    """Return whether it is a pipeline or has one, which may choose columns by their names.

    Models of river that were made into a pipeline get numbers: they drop the names and warn of that.
    """
    if type(last_of(estimator)[1]).__module__.partition(".")[0] == "river":
        return False
    return any(hasattr(each, "steps") for each in (estimator, *_options(estimator).values()))


def is_fitted(estimator: Any) -> bool:
    """Return whether a regressor has been fitted before."""
    validation = import_module("sklearn.utils.validation")
    try:
        validation.check_is_fitted(estimator)
    except Exception:  # noqa: BLE001 - besides its own error, a TypeError for objects that are no estimators
        return False
    # An estimator without state is always ready; only what a fit has left tells.
    return any(name.endswith("_") and not name.startswith("__") for name in vars(last_of(estimator)[1])) or hasattr(
        last_of(estimator)[1], "__sklearn_is_fitted__"
    )


def check_columns(estimator: Any, names: tuple[str, ...]) -> None:
    """Raise an error if a fitted regressor was fitted to other columns.

    Raises
    ------
    ValueError
        It says which it expects.
    """
    known = getattr(estimator, "feature_names_in_", None)
    # LightGBM and others name columns of arrays themselves.
    if known is not None and all(not str(name).startswith("Column_") for name in known):
        if [*map(str, known)] != [*names]:
            raise ValueError(
                f"features: the fitted estimator expects {', '.join(map(str, known))}; give these as features"
            )
        return
    count = getattr(estimator, "n_features_in_", len(names))
    if count != len(names):
        raise ValueError(
            f"features: the fitted estimator expects {count} columns, got {len(names)}; name them by features"
        )


def prepared(estimator: Any, seed: int, fitted: bool) -> Any:
    """Return a copy with a seed, on one thread, that prints nothing. A fitted one stays fitted.

    Raises
    ------
    InputError
        If it cannot be copied.
    """
    try:
        made = import_module("copy").deepcopy(estimator) if fitted else clone_of(estimator)
        options = _options(made)
        given: dict[str, Any] = {name: 1 for name in options if name.rpartition("__")[2] == "n_jobs"}
        if not fitted:
            given |= {name: seed for name in options if name.endswith("random_state") and options[name] is None}
        name, last = last_of(made)
        silent = _SILENT.get(type(last).__module__.partition(".")[0], {})
        own = _options(last)
        given |= {f"{name}__{key}" if name else key: value for key, value in silent.items() if own.get(key) is None}
        if given:
            made.set_params(**given)
    except Exception as error:  # noqa: BLE001 - another project's part may raise anything
        raise InputError(f"estimator: expected one that scikit-learn can clone: {raised(error)}") from None
    return made


def clone_of(estimator: Any) -> Any:
    """Return an unfitted copy."""
    return import_module("sklearn.base").clone(estimator, safe=False)


def quantile_options(estimator: Any) -> dict[str, Any]:
    """Return the options that fit a regressor to a quantile, which is ``None`` there. Empty if it has none."""
    name, last = last_of(estimator)
    own = _options(last)
    prefix = f"{name}__" if name else ""
    package = type(last).__module__.partition(".")[0]
    if package == "lightgbm":
        return {f"{prefix}objective": "quantile", f"{prefix}alpha": None}
    if package == "xgboost":
        return {f"{prefix}objective": "reg:quantileerror", f"{prefix}quantile_alpha": None}
    boosts = own.get("loss") == "quantile" or type(last).__name__ == "GradientBoostingRegressor"
    share = "quantile" if "quantile" in own else "alpha" if boosts and "alpha" in own else ""
    if not share:
        return {}
    return {prefix + share: None} | {prefix + key: "quantile" for key in ("loss", "strategy") if key in own}


def weight_argument(estimator: Any, call: str) -> str | None:
    """Return the name of the argument of `fit` or `partial_fit` for sample weights; ``None`` if it takes none."""
    name, last = last_of(estimator)
    parameters = inspect.signature(getattr(last, call)).parameters
    if "sample_weight" not in parameters:
        return None
    return f"{name}__sample_weight" if name else "sample_weight"


def predicted(model: Any, table: Any) -> Any:
    """Return what a regressor predicts. Ask the trees of a forest directly: its own call takes ten times as long."""
    ensemble = import_module("sklearn.ensemble")
    if type(model) not in (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor):
        return model.predict(table)
    rows = np.asarray(table, dtype=np.float32)
    means: FloatArray = sum(tree.tree_.predict(rows) for tree in model.estimators_) / len(model.estimators_)
    return means
