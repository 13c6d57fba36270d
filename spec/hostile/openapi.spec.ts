import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { routeList } from '../../gateway/contract/routes.ts';
import { Fuzzer } from './openapi/fuzz.ts';
import { OpenScope } from './scope.ts';
import { Target } from './target.ts';

const SEED = 20_240_607;
const RUNS = 40;

describe('whatever is sent to an operation, the answer is one that the OpenAPI document describes', () => {
  const scope = new OpenScope();
  let fuzzer: Fuzzer;
  before(async () => {
    fuzzer = await Fuzzer.against(await Target.start(scope, ['--heartbeat-interval', '1']));
  });
  after(() => scope.end());

  for (const [id] of routeList) {
    it(id, async () => {
      await fuzzer.run(fuzzer.document.operation(id), { seed: SEED, runs: RUNS });
    });
  }

  it('the requests are of both kinds: many that are served, many that are refused', () => {
    const { requests, statuses } = fuzzer.tally;
    const served = statuses.get(200) ?? 0;
    assert.ok(served > requests / 5 && served < (requests * 4) / 5, `${served} of ${requests} were served`);
    for (const status of [400, 403, 404, 405, 409, 422, 426]) {
      assert.ok((statuses.get(status) ?? 0) > 0, `${status} was answered: ${JSON.stringify([...statuses])}`);
    }
  });
});
