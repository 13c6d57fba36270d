import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { wordsModule } from '../../gateway/python/words-module.ts';
import { WAITING_WORDS, waitingWords } from '../../machines/matching/waiting-words.ts';

describe('the words for what keeps a task from workers', () => {
  it('are those of the first pattern that fits, with what was asked for in their places', () => {
    const none = (requirement: string) => waitingWords(requirement).none;
    assert.equal(
      none('labels.dataset.corn=true'),
      'no worker has the dataset corn (start one with --dataset corn=PATH)',
    );
    assert.equal(none('labels.dataset.corn'), 'no worker has the label dataset.corn');
    assert.equal(none('paused.owner=a $& {1}\nb'), 'owner a $& {1}\nb is paused (jqctl queue)');
    assert.deepEqual(
      [none('min_gpu_count=1'), none('min_gpu_count=12')],
      ['no worker has 1 GPU', 'no worker has 12 GPUs'],
    );
    assert.equal(none(''), 'no worker has ');
  });

  it('are the same in the client for Python', () => {
    const module = wordsModule();
    for (const { pattern, none } of WAITING_WORDS) {
      assert.ok(module.includes(`Words(${JSON.stringify(pattern)}, `), pattern);
      assert.ok(module.includes(JSON.stringify(none)), none);
    }
  });
});
