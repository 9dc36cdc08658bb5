import assert from 'node:assert/strict';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { digestOf } from '../agreed-answers.ts';
import { user } from '../callers.ts';
import type { CaseGroup, WholeAnswer, World } from '../conformance-case.ts';
import { responds } from '../peers.ts';

const alice = user('alice');
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const documents = [
  ['/apis', aggregated],
  ['/apis', 'application/json'],
  ['/apis/batch', 'application/json'],
  ['/apis/batch/v1', 'application/json'],
  ['/openapi/v3', 'application/json'],
] as const;

export const discovery: CaseGroup = {
  title: 'Merged discovery',
  cases: [
    {
      id: 'discovery/merged',
      rule: 'What only a peer serves is advertised, aggregated, classic and in the OpenAPI index',
      citation: 'docs/explanation/discovery.md',
      async run(world) {
        for (const [target, accept] of documents) {
          const answer = await ask(world, target, accept);
          assert.equal(answer.status, 200, target);
          assert.match(answer.body, /batch/, target);
        }
      },
    },
    {
      id: 'discovery/entity-tags',
      rule: 'Documents and entity tags are the same on every runtime, and `If-None-Match` gives 304',
      citation: 'decisions/0001-merged-discovery.md',
      async run(world) {
        for (const [target, accept] of documents) {
          const first = await ask(world, target, accept);
          const tag = firstHeader(first.headers, 'etag');
          assert.ok(tag !== undefined, target);
          world.agree(`${target} as ${accept}`, `${tag} ${digestOf(first.body)}`);
          const again = await ask(world, target, accept, tag);
          assert.equal(again.status, 304, target);
          assert.equal(again.body, '');
          assert.equal(firstHeader(again.headers, 'etag'), tag);
          assert.equal((await ask(world, target, accept, '"another"')).status, 200);
        }
      },
    },
    {
      id: 'discovery/local-view',
      rule: '`profile=nopeer` is the local server’s own document',
      citation: 'KEP-4020',
      async run(world) {
        const nopeer = `${aggregated};profile=nopeer`;
        const answer = await ask(world, '/apis', nopeer);
        assert.equal(answer.body, '{"kind":"Example"}');
        assert.equal(world.cluster.local.only().target, '/apis');
      },
    },
    {
      id: 'discovery/permission',
      rule: 'Whether the caller may read it is for the local server to say',
      citation: 'decisions/0001-merged-discovery.md',
      async run(world) {
        world.cluster.local.script = responds(
          403,
          ['Content-Type', 'application/json'],
          '{"kind":"Status","code":403}',
        );
        const answer = await ask(world, '/apis', aggregated);
        assert.equal(answer.status, 403);
        assert.equal(answer.body, '{"kind":"Status","code":403}');
      },
    },
  ],
};

function ask(world: World, target: string, accept: string, tag?: string): Promise<WholeAnswer> {
  const conditions = tag === undefined ? [] : ['If-None-Match', tag];
  return world.ask({ target, headers: ['Accept', accept, ...conditions] }, alice);
}
