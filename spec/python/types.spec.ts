import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { PYTHON } from '../nirs4all/where.ts';
import type { Outcome } from '../support/heard.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { environment, type Interpreter, needsModules, needsPython, PYTHONS, pip, python } from './python.ts';

type Check = (...args: string[]) => Promise<Outcome>;

/** The strict checker, which looks at the client where pip has put it, as the oldest Python that it is for. */
async function checker(t: TestContext): Promise<Check> {
  const { url } = await startTestServer(t);
  const path = await environment(t, (PYTHONS.at(-1) as Interpreter).path);
  const said = await pip(path, [`${url}/client/python`]);
  assert.equal(said.code, 0, said.stderr);
  const folder = await temporaryDirectory(t);
  const flags = ['--strict', '--python-version', '3.9', '--python-executable', path, '--cache-dir', folder];
  return (...args) => python(PYTHON, ['-m', 'mypy', ...flags, ...args]);
}

const RIGHT = `
import asyncio
from pathlib import Path
from typing import List, Optional

from jq_cluster import AsyncCluster, Cluster, Dataset, Job, ResponseError, Task

cluster = Cluster("http://127.0.0.1:8765", token=None)
job: Job = cluster.run(["snv"], Dataset([[1.0, 2.0]], [1.0], name="d"), lib="mljs", params={"random_state": 1}, priority=2)
status: str = job.wait(timeout=3.5).status
model: Path = job.best.model()
score: Optional[float] = job.best.metrics["best_rmse"]
tasks: List[Task] = list(cluster.map([["snv"]], ("x", "y")))
queued: int = cluster.api.get_job(job.id)["aggregate"]["num_queued"]
try:
    cluster.api.submit_job({"type": "demo.run", "pipeline": {"kind": "path", "path": "p"}, "dataset": {"kind": "catalog", "catalog_id": "d"}})
except ResponseError as error:
    code: str = error.code


async def main() -> None:
    async with AsyncCluster() as other:
        print((await (await other.run(["snv"], "d")).best()).pipeline)
        print([task.id async for task in other.map([["snv"]], "d")])


asyncio.run(main())
`;

const WRONG = [
  ['cluster.run(["snv"])', 'call-arg'],
  ['number: int = cluster.job("x").status', 'assignment'],
  ['cluster.api.get_job(5)', 'arg-type'],
  ['cluster.api.list_jobs(status="running well")', 'arg-type'],
  ['cluster.api.get_job("x")["aggregate"]["num_quueued"]', 'typeddict-item'],
  ['cluster.api.nothing()', 'attr-defined'],
] as const;

describe('the types of the client for Python', needsPython, () => {
  describe('by mypy --strict', needsModules('mypy', 'mypy'), () => {
    it('are whole, for the oldest Python that it is for', async (t) => {
      const check = await checker(t);
      const { code, stdout, stderr } = await check('-p', 'jq_cluster');
      assert.equal(code, 0, stdout + stderr);
    });

    it('let a right program pass, and refuse each line that is wrong', async (t) => {
      const check = await checker(t);
      const folder = await temporaryDirectory(t);
      const [right, wrong] = [join(folder, 'right.py'), join(folder, 'wrong.py')];
      await writeFile(right, RIGHT);
      const passed = await check(right);
      assert.equal(passed.code, 0, passed.stdout + passed.stderr);
      const lines = ['from jq_cluster import Cluster', 'cluster = Cluster()', ...WRONG.map(([line]) => line)];
      await writeFile(wrong, `${lines.join('\n')}\n`);
      const { code, stdout } = await check(wrong);
      assert.equal(code, 1, stdout);
      for (const [i, [line, kind]] of WRONG.entries()) {
        assert.match(
          stdout,
          new RegExp(`^[^\\n]*wrong\\.py:${i + 3}: error: [^\\n]*\\[${kind}\\]$`, 'm'),
          line,
        );
      }
    });
  });
});
