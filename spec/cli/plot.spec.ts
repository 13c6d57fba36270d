import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Hand, pipelines, submit } from '../dashboard/hands.ts';
import { temporaryDirectory } from '../support/server.ts';
import { scene } from './scene.ts';

const PREDICTIONS = `sample,partition,fold,y,prediction,target
1,validation,1,10,11,starch
2,validation,2,20,19,starch
3,test,,30,28,starch
`;
const CURVES = {
  curves: [
    { of: 'cv', x: { name: 'components', values: [1, 2, 3] }, series: { rmse: [3, 1, 2] }, chosen: 2 },
  ],
};

describe('jqctl plot', () => {
  /** A job of two tasks: the best left these files, the other one none. */
  async function ended(t: TestContext, predictions = PREDICTIONS) {
    const { server, ctl } = await scene(t);
    const box = await temporaryDirectory(t);
    const { id } = await submit(server.client, pipelines('pls', 'snv'));
    const hand = await Hand.register(server.client);
    const task = await hand.run();
    await hand.upload(task, box, 'predictions', 'predictions.csv', predictions);
    await hand.upload(task, box, 'curves', 'curves.json', JSON.stringify(CURVES));
    await hand.complete(task, { metrics: { best_rmse: 1 } });
    await hand.finish({ best_rmse: 2 });
    return (...argv: string[]) => ctl('plot', id, ...argv);
  }

  it('draws what the best task predicted against what was measured, and its curves, with their figures', async (t) => {
    const ctl = await ended(t);
    const { code, stdout } = await ctl();
    assert.equal(code, 0);
    assert.match(
      stdout,
      /^the best task: pls on corn {2}task_\w+\n\npredicted starch against measured\n +30 ▏/,
    );
    assert.match(
      stdout,
      /\n +10 ▏[\u2800-\u28ff]+\n +10 +30\nto the right: measured, upwards: predicted; a thick dot/,
    );
    assert.match(stdout, /^cross-validation +2 +0\.9600 +1 +0$/m);
    assert.match(stdout, /^test samples +1 +- +2 +-2$/m);
    assert.match(stdout, /^rmse of cv by components, chosen: 2 \(1\)\n +3 ▏/m);
    assert.ok(
      [...stdout].filter((char) => char > '\u2800' && char <= '\u28ff').length > 20,
      'dots are drawn',
    );
  });

  it('prints the numbers as JSON, and takes another task', async (t) => {
    const ctl = await ended(t);
    const { predictions, curves } = JSON.parse((await ctl('--json')).stdout);
    assert.deepEqual([predictions.length, curves[0].chosen], [3, 2]);
    assert.match((await ctl('--task', 'pls')).stdout, /^task: pls on corn {2}task_\w+\n/);
    const other = await ctl('--task', 'snv');
    assert.deepEqual([other.code, other.stdout], [0, '']);
    assert.match(other.stderr, /left nothing to draw/);
  });

  it('says so where a runner wrote something else under that name', async (t) => {
    const { code, stderr } = await (await ended(t, 'a,b\n1,2\n'))();
    assert.equal(code, 2);
    assert.match(stderr, /the predictions could not be read: it has no columns sample/);
  });
});
