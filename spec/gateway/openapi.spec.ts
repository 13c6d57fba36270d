import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { ERRORS } from '../../gateway/contract/errors.ts';
import { routeList } from '../../gateway/contract/routes.ts';
import { codesOf } from '../../gateway/openapi/codes.ts';
import { openApi } from '../../gateway/openapi/openapi.ts';
import { ERROR_CODES } from '../../machines/protocol/errors.ts';
import { JobSpec } from '../../machines/schema/job.ts';
import { ask, gatewayFor } from './support.ts';

const facts = { service: 'jq-cluster', version: '9.9.9', allowPythonJobs: false };
// biome-ignore lint/suspicious/noExplicitAny: a document of free form
const document = openApi(routeList, facts) as any;

describe('the OpenAPI description', () => {
  it('is served, and is a valid OpenAPI 3.1 document', async () => {
    await using gateway = await gatewayFor();
    const answer = await ask(gateway.port, { line: 'GET /openapi.json' });
    assert.equal(answer.headers.get('content-type'), 'application/json');
    const served = JSON.parse(answer.body);
    assert.deepEqual(served, JSON.parse(JSON.stringify(document)));
    const validator = new Validator();
    const result = await validator.validate(served);
    assert.deepEqual([result.valid, result.errors], [true, undefined]);
    assert.equal(validator.version, '3.1');
  });

  it('lists every route under its own name, and no other', () => {
    const listed = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item as object).map(([verb, op]) => `${verb} ${path} ${op.operationId}`),
    );
    assert.deepEqual(
      listed.sort(),
      routeList.map(([name, { method: verb, path }]) => `${verb} ${path} ${name}`).sort(),
    );
  });

  for (const [name, route] of routeList) {
    const operation = document.paths[route.path][route.method];

    it(`describes every status of ${name}, its right and its parameters`, () => {
      const errors = codesOf(route).map((code) => String(ERRORS[code].status));
      for (const status of errors) assert.ok(operation.responses[status], status);
      const success = {
        json: '200',
        upload: '200',
        download: '206',
        file: '200',
        page: '200',
        text: '200',
        stream: '101',
      }[route.kind];
      assert.ok(operation.responses[success], success);

      assert.equal(operation.security.length > 0, route.right !== null);
      for (const scheme of operation.security) assert.deepEqual(Object.values(scheme), [[route.right]]);

      const named = operation.parameters.map((parameter: { name?: string }) => parameter.name);
      const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, param]) => param);
      const inQuery = Object.keys(route.query?.properties ?? {}).filter((key) => key !== 'token');
      for (const parameter of [...inPath, ...inQuery]) assert.ok(named.includes(parameter), parameter);
    });
  }

  it('names every error code with its meaning', () => {
    for (const code of ERROR_CODES) {
      assert.ok(document.info.description.includes(`| ${ERRORS[code].status} | \`${code}\` |`), code);
    }
    assert.deepEqual(document.components.schemas.Error.properties.code.enum, [...ERROR_CODES]);
  });

  it('writes each named schema once and refers to it', () => {
    const body = document.paths['/v1/jobs'].post.requestBody.content;
    assert.deepEqual(body['application/yaml'].schema, { $ref: '#/components/schemas/JobSpec' });
    const { JobSpec: spec, PipelineRef } = document.components.schemas;
    assert.deepEqual(Object.keys(spec.properties), Object.keys(JobSpec.properties));
    assert.deepEqual(spec.properties.pipeline, { $ref: '#/components/schemas/PipelineRef' });
    assert.equal(PipelineRef.anyOf.length, 4);
  });

  it('refers only to schemas that it holds', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(
      ([, ref]) => ref as string,
    );
    assert.ok(refs.length > 100);
    for (const ref of new Set(refs)) {
      const target = ref.split('/').reduce((at, key) => at?.[key], document);
      assert.ok(target, ref);
    }
  });

  it('says how to use a stream', () => {
    const { responses, security } = document.paths['/v1/events/stream'].get;
    assert.deepEqual(responses['101']['x-websocket-message'], { $ref: '#/components/schemas/EventView' });
    assert.deepEqual(security, [{ bearer: ['read'] }, { token: ['read'] }]);
  });
});
