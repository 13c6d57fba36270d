import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { JOB } from '../support/job.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type ServerProgramOptions, startServerProgram } from '../support/server-program.ts';

/** A server process with limits, and what it answers: the status, and the code of a refusal. */
async function limited(t: TestContext, limits: Partial<ServerProgramOptions>) {
  const server = await startServerProgram({ state: await temporaryDirectory(t), ...limits });
  t.after(() => server.kill());
  const answer = async (path: string, init: RequestInit) => {
    const response = await fetch(server.url + path, init);
    const body = (await response.json()) as { code?: string };
    return body.code === undefined ? response.status : `${response.status} ${body.code}`;
  };
  return {
    submit: () => answer('/v1/jobs', { method: 'POST', body: JSON.stringify(JOB) }),
    register: () => answer('/v1/workers/register', { method: 'POST' }),
    read: () => answer('/v1/jobs', {}),
    upload: (bytes: number) => {
      const body = new FormData();
      body.set('file', new Blob([Buffer.alloc(bytes)]), 'file');
      return answer('/v1/artifacts', { method: 'POST', body });
    },
  };
}

describe('the limits of the command line, at both of their ends', () => {
  it('--max-artifact-mb 0 accepts only empty artifacts, and jobs as usual', async (t) => {
    const { submit, upload } = await limited(t, { maxArtifactMb: 0 });
    assert.deepEqual(
      [await upload(0), await upload(1), await upload(1_000_000), await submit()],
      [200, '413 artifact_too_large', '413 artifact_too_large', 200],
    );
  });

  it('--max-request-mb 0 accepts only empty bodies, and artifacts as usual', async (t) => {
    const { submit, register, read, upload } = await limited(t, { maxRequestMb: 0 });
    assert.deepEqual(
      [await submit(), await register(), await read(), await upload(1)],
      ['413 body_too_large', 200, 200, 200],
    );
  });

  it('the largest accept everything', async (t) => {
    const { submit, upload } = await limited(t, { maxArtifactMb: 1e9, maxRequestMb: 1e9 });
    assert.deepEqual([await submit(), await upload(1_000_000)], [200, 200]);
  });
});
