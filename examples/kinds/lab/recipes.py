"""What a python_entrypoint pipeline is: a function that returns the pipeline, here for nirs4all."""

from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler


def build_pipeline():
    folds = KFold(n_splits=5, shuffle=True, random_state=42)
    return [StandardScaler(), folds, {"model": PLSRegression(n_components=4)}]
