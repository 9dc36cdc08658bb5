import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { runCommand } from '../../test/support/commands/command-context.ts';
import type { ServedSet, Snapshot } from '../snapshot/format/schema.ts';
import { servedSetKey } from '../snapshot/format/served-set-key.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../snapshot/signing/seal.ts';
import { subcommands } from './run-command-line.ts';

const files = new Map<string, string>();
const now = Date.parse('2026-01-01T00:00:01Z');
const run = (args: readonly string[], input: readonly string[] = []) =>
  runCommand(files, args, { input, now });

before(async () => {
  const set: ServedSet = { storageVersions: { 'batch.jobs': ['v1'] } };
  const empty: ServedSet = { storageVersions: {} };
  const [setKey, emptyKey] = await Promise.all([servedSetKey(set), servedSetKey(empty)]);
  const snapshot: Snapshot = {
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'StorageVersionSnapshot',
    metadata: { generation: 7, createdAt: '2026-01-01T00:00:00Z', source: 'discovery' },
    servers: [
      { id: 'cp-a', address: '10.0.0.1:6443', serves: emptyKey },
      { id: 'cp-b', address: '10.0.0.2:6443', serves: setKey },
    ],
    servedSets: { [setKey]: set, [emptyKey]: empty },
    apiServices: [],
    customResourceGroups: [],
  };
  const key = await generateSigningKey('ES256');
  const other = await generateSigningKey('EdDSA');
  files.set('snapshot.json', JSON.stringify(snapshot));
  files.set('snapshot.jws', `${await sealSnapshot(snapshot, signingKeyOf(key.privateJwk))}\n`);
  files.set('keys.json', JSON.stringify({ keys: [key.publicJwk] }));
  files.set('other-keys.json', JSON.stringify({ keys: [other.publicJwk] }));
  const faulty = {
    ...snapshot,
    kind: 'Pod',
    servers: [{ id: 'cp-a', serves: 'sha256:none', colour: 'red' }],
  };
  files.set('faulty.json', JSON.stringify(faulty));
  files.set('noise', 'neither this nor that');
});

describe('the command line', () => {
  it('explains itself when called without anything, with every command that works', async () => {
    const { code, output, errors } = await run([]);
    assert.equal(code, 0);
    assert.equal(errors, '');
    for (const command of ['explain', 'keygen', 'version']) assert.match(output, new RegExp(`  ${command} `));
    assert.match(output, /Usage:\n {2}mixed-version-proxy <command> \[flags\]/);
  });

  it('has help with examples and usage for every command', async () => {
    for (const { name, load } of subcommands) {
      const { code, output } = await run([name, '--help']);
      assert.equal(code, 0);
      assert.match(output, new RegExp(`Usage:\\n {2}mixed-version-proxy ${name}`));
      if ((await load()).examples !== undefined) assert.match(output, /Examples:\n {2}# /);
    }
  });

  it('suggests what was meant for unknown commands and flags, with exit code 2', async () => {
    const command = await run(['explian']);
    assert.equal(command.code, 2);
    assert.match(command.errors, /^error: unknown command explian: did you mean explain\?$/m);
    for (const command of ['serve', 'sync', 'doctor', 'status'])
      assert.equal(
        (await run([command, '--bogus'])).errors,
        'error: unknown flag --bogus\nRun it with --help for its flags and examples.\n',
      );
    const flag = await run(['explain', '--snapshto', 'x']);
    assert.equal(flag.code, 2);
    assert.match(flag.errors, /^error: unknown flag --snapshto: did you mean --snapshot\?$/m);
    assert.equal((await run(['version', 'excess'])).code, 2);
    const form = await run(['explain', 'GET', '/', '-o', 'xml']);
    assert.equal(form.code, 2);
    assert.match(form.errors, /^error: --output must be one of text, json, not "xml"$/m);
  });

  it('says what is wrong with a call in its own words, not in those of its parser', async () => {
    for (const [args, message] of [
      ['install', 'form is required: kubeadm'],
      ['install foo', 'form must be one of kubeadm, not "foo"'],
      ['version x', 'unexpected argument "x": version takes flags only'],
      ['explain GET /api x', 'explain takes 2 arguments, not 3'],
      ['explain --snapshot', '--snapshot needs a value'],
      ['keygen', '--out is required'],
      ['status --all=2', '--all must be true or false, not "2"'],
      ['status -o', '--output needs a value'],
      ['status -o= --all', 'empty value in "--output"'],
      [
        'explain GET /api --preferred-version=foo',
        '--preferred-version must be majority, newest, oldest, local, or a minor version such as 1.36, not "foo"',
      ],
    ] as const) {
      const { code, errors } = await run(args.split(' '));
      assert.equal(code, 2, args);
      assert.equal(errors, `error: ${message}\nRun it with --help for its flags and examples.\n`);
    }
  });

  it('knows no help for a command that it does not know', async () => {
    const { code, output, errors } = await run(['help', 'nosuch']);
    assert.equal(code, 2);
    assert.equal(output, '');
    assert.match(errors, /^error: unknown command nosuch$/m);
    assert.match((await run(['help', 'explain'])).output, /Usage:\n {2}mixed-version-proxy explain/);
    assert.match((await run(['help'])).output, /Usage:\n {2}mixed-version-proxy <command>/);
  });

  it('prints its version', async () => {
    assert.match((await run(['version'])).output, /^mixed-version-proxy v\d+\.\d+\.\d+\nNode\.js v\d+/);
    assert.match((await run(['--version'])).output, /^v\d+\.\d+\.\d+\n$/);
    const facts = JSON.parse((await run(['version', '-o', 'json'])).output);
    assert.match(facts.version, /^v\d+\.\d+\.\d+$/);
    assert.equal(facts.nodeVersion, process.version);
    assert.equal(facts.platform, `${process.platform}/${process.arch}`);
  });
});

describe('explain', () => {
  const seen = [
    'explain',
    'GET',
    '/apis/batch/v1/jobs',
    '--snapshot',
    'snapshot.json',
    '--server-id',
    'cp-a',
  ];

  it('shows request info, rules, decision and candidates as text', async () => {
    const { code, output } = await run(seen);
    assert.equal(code, 0);
    assert.match(output, /^Request: +GET \/apis\/batch\/v1\/jobs$/m);
    assert.match(output, /^ {2}apiGroup: +batch$/m);
    assert.match(output, /^ {2}-> 7 Does a peer serve it\? Yes: reachable: cp-b$/m);
    assert.match(output, /^Decision: +peer$/m);
    assert.match(output, /^Reason: +ServedByPeer$/m);
    assert.match(output, /^ {2}cp-b {2}10\.0\.0\.2:6443 {2}as kubernetes\.default\.svc$/m);
  });

  it('gives the same as JSON', async () => {
    const { code, output } = await run([...seen, '-o', 'json', '--as', 'alice']);
    assert.equal(code, 0);
    const answer = JSON.parse(output);
    assert.equal(answer.decision, 'peer');
    assert.equal(answer.requestInfo.resource, 'jobs');
    assert.equal(answer.candidates[0].id, 'cp-b');
    assert.equal(answer.user, 'alice');
  });

  it('is not shown control characters that could steer a terminal', async () => {
    const { output } = await run(['explain', 'GET', '/api/v1/pods?x=\u001b[2J']);
    assert.ok(!output.includes('\u001b'));
  });

  it('answers a refused path with exit code 0: the question was answered', async () => {
    const { code, output } = await run(['explain', 'GET', '/api/v1/../pods']);
    assert.equal(code, 0);
    assert.match(output, /^Decision: +refused$/m);
    assert.match(output, /^Reason: +AmbiguousRequestTarget$/m);
  });

  it('tells all that is wrong with its arguments, with exit code 2', async () => {
    const unknown = await run([...seen.slice(0, -1), 'cp-z']);
    assert.deepEqual(
      [unknown.code, unknown.output, unknown.errors],
      [2, '', 'error: --server-id: the snapshot has no server cp-z; it has cp-a, cp-b\n'],
    );
    for (const url of ['pods', '', '*', 'ftp://router/api', 'https://', 'https://router:x/api']) {
      const { code, errors } = await run(['explain', 'GET', url]);
      assert.equal(code, 2, url);
      assert.ok(errors.includes(`URL must be a path that begins with /, or an https:// URL, not "${url}"`));
    }
    const all = await run(['explain', 'A B', 'pods', '--snapshot=missing.json']);
    assert.equal(all.code, 2);
    for (const part of ['"A B" cannot', 'URL must', '--snapshot: cannot read'])
      assert.ok(all.errors.includes(`error: ${part}`), part);
  });

  it('says what is not known without a server or a snapshot', async () => {
    assert.match(
      (await run(seen.slice(0, -2))).output,
      /^Seen from: +a gateway, to which no server is local$/m,
    );
    const without = await run(['explain', 'GET', '/api/v1/pods', '--server-id', 'cp-a']);
    assert.match(without.output, /answered from nothing, as by a router that has no snapshot yet/);
  });

  it('opens a signed snapshot, and says when its signature was not checked', async () => {
    const signed = ['explain', 'GET', '/apis/batch/v1/jobs', '--snapshot', 'snapshot.jws'];
    assert.match((await run(signed)).output, /signature of the snapshot was not checked/);
    assert.match((await run(seen)).output, /not signed/);
    const checked = await run([...signed, '--snapshot-keys', 'keys.json']);
    assert.match(checked.output, /the snapshot is signed with key/);
    assert.match(checked.output, /^Decision: +peer$/m);
    const wrong = await run([...signed, '--snapshot-keys', 'other-keys.json']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.errors, /UnknownKey/);
  });

  it('refuses what can be no method, and says what an odd one is', async () => {
    const odd = await run(['explain', 'GET /x', '/api']);
    assert.equal(odd.code, 2);
    assert.match(odd.errors, /"GET \/x" cannot be an HTTP method/);
    assert.match(
      (await run(['explain', 'get', '/api'])).output,
      /get is not GET: methods are case-sensitive/,
    );
    const { code, output } = await run(['explain', '--stdin'], ['{"method":"A B","url":"/api"}\n']);
    assert.equal(code, 1);
    assert.match(output, /cannot be an HTTP method/);
  });

  it('says which paths the router serves itself', async () => {
    for (const path of ['/readyz', '/livez/ping', 'https://router:6443/healthz?verbose']) {
      assert.match((await run(['explain', 'GET', path])).output, /the router serves \/\w+/, path);
    }
    const own = await run(['explain', 'GET', '/.mixed-version-proxy/v1/status']);
    assert.match(own.output, /is the router's own/);
    assert.doesNotMatch((await run(['explain', 'GET', '/readyzz'])).output, /the router serves/);
  });

  it('explains every request target of --stdin, those too that the router refuses', async () => {
    const lines = ['*', 'pods', 'router:443'].map((url) => JSON.stringify({ method: 'OPTIONS', url }));
    const text = lines.join('\n');
    const { code, output } = await run(['explain', '--stdin'], [text.slice(0, 40), text.slice(40)]);
    assert.equal(code, 0);
    const explained: { decision: string }[] = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      explained.map(({ decision }) => decision),
      ['refused', 'refused', 'refused'],
    );
  });

  it('wants method and URL, or --stdin', async () => {
    assert.equal((await run(['explain', 'GET'])).code, 2);
    assert.equal((await run(['explain', 'GET', '/api', '--stdin'])).code, 2);
  });

  it('answers JSON lines with the four fields of the contract, one line each', async () => {
    const { code, output } = await run(
      ['explain', '--stdin', '--snapshot', 'snapshot.json', '--server-id', 'cp-a'],
      [
        '{"method":"GET","url":"/apis/bat',
        'ch/v1/jobs"}\n\n{"method":"GET","url":"/healthz","headers":{"Accept":"*/*"}}',
      ],
    );
    assert.equal(code, 0);
    const answers = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(Object.keys(answers[0]), ['requestInfo', 'decision', 'reason', 'candidates']);
    assert.deepEqual(
      answers.map(({ decision, reason }) => [decision, reason]),
      [
        ['peer', 'ServedByPeer'],
        ['local', 'NotAResourceRequest'],
      ],
    );
  });

  it('answers a bad line with its number, goes on, and ends with exit code 1', async () => {
    const lines = [
      '{"method":"GET","url":"/healthz"}',
      '{bad',
      '[]',
      '{"method":"","url":"/"}',
      '{"method":"GET"}',
      '{"method":"GET","url":"/api/v1/../pods"}',
      '{"method":"GET","url":"/livez"}',
    ];
    const { code, output } = await run(['explain', '--server-id', 'cp-a', '--stdin'], [lines.join('\n')]);
    assert.equal(code, 1);
    const answers = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      answers.map(({ line, decision }) => line ?? decision),
      ['local', 2, 3, 4, 5, 'refused', 'local'],
    );
  });
});

describe('a snapshot that is given to explain', () => {
  const explain = (...flags: readonly string[]) => run(['explain', 'GET', '/api/v1/pods', ...flags]);

  it('has every error printed with its path, and exit code 2', async () => {
    const { code, errors } = await explain('--snapshot', 'faulty.json');
    assert.equal(code, 2);
    assert.match(errors, /^error: faulty\.json: servers\[0\]\.colour /m);
    assert.match(errors, /^error: faulty\.json: kind /m);
  });

  it('is refused with exit code 2 where it is missing, no snapshot, or not signed as asked', async () => {
    const refused = async (...flags: readonly string[]) => {
      const { code, errors } = await explain('--snapshot', ...flags);
      assert.equal(code, 2);
      return errors;
    };
    assert.match(await refused('missing.json'), /^error: --snapshot: cannot read missing\.json: /);
    assert.match(await refused('noise'), /neither JSON nor a compact JWS/);
    files.set('list.json', '[]');
    assert.match(await refused('list.json'), /list\.json must be an object/);
    files.set('cut.jws', (files.get('snapshot.jws') ?? '').split('.').slice(0, 2).join('.'));
    assert.match(await refused('cut.jws'), /is cut off: .* three parts, this one has 2/);
    assert.match(await refused('snapshot.json', '--snapshot-keys', 'keys.json'), /is not signed/);
    await refused('snapshot.jws', '--snapshot-keys', 'other-keys.json');
  });
});
