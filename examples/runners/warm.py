"""mean.py, kept warm: job type warm.run."""
import json, sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "actors/worker/runners/python"))  # or a copy beside this file
import jq_warm


def main(argv):
    given = dict(zip(argv[::2], argv[1::2]))
    task = json.loads(Path(given["--task-file"]).read_text())
    import statistics  # in a fork it is there already
    values = [float(line) for line in open(f"{task['dataset']['path']}/train_y.csv").readlines()[1:]]
    print(f"::progress 0.5 {len(values)} values read", flush=True)
    result = {"status": "succeeded", "metrics": {"best_rmse": statistics.pstdev(values)}}
    Path(given["--result-file"]).write_text(json.dumps(result))


if __name__ == "__main__":
    jq_warm.run(main, preload=["statistics"])
