import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findProgram } from '../support/commands/find-program.ts';
import { startServer } from '../support/routers/node-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);

/** The latest that Go's module proxy has. */
const h2spec = 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible';
const go = findProgram('go');

/**
 * RFC 7540 section 5.3.1 made a stream that depends on itself an error; RFC 9113 section 5.3 has dropped priorities with
 * that rule.
 */
const allowedFailures = [
  'Sends HEADERS frame that depend on itself',
  'Sends PRIORITY frame that depend on itself',
];

/** Milliseconds before an answer, so that the second frame of each test finds its stream open. */
const pause = 100;

test('h2spec, strict: no failure but what RFC 9113 has dropped', {
  skip: go === undefined && 'needs Go, which builds h2spec',
}, async (context) => {
  const directory = await temporaryDirectory(context);
  const env = { ...process.env, GOFLAGS: '-mod=mod', GOBIN: directory };
  await run(go as string, ['install', h2spec], { cwd: directory, env });
  const { port } = await startServer(context, async (request) => {
    await request.arrayBuffer();
    await wait(pause);
    return new Response('fine');
  });
  const report = join(directory, 'report.xml');
  // The program ends with 1 when a test fails; the report says which.
  const options = ['-h', '127.0.0.1', '-p', String(port), '-t', '-k', '--strict', '-j', report];
  await run(join(directory, 'h2spec'), options).catch(() => {});
  const cases = [
    ...(await readFile(report, 'utf8')).matchAll(/<testcase [^>]*classname="([^"]*)"[^>]*>\s*(<[a-z]+)?/g),
  ];
  const failed = cases
    .filter(([, , child]) => child === '<failure' || child === '<error')
    .map(([, name]) => name);
  context.diagnostic(`${cases.length} tests`);
  assert.ok(cases.length >= 145, `${cases.length} tests only`);
  assert.deepEqual(failed.sort(), allowedFailures);
});
