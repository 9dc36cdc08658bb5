import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { parse } from 'yaml';
import { runCommand, type Written } from '../../../test/support/command-context.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { type StartedRouterOptions, startRouterWithFiles } from '../../../test/support/started-router.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/tls-client.ts';
import { clusterView } from '../../dashboard/cluster-view.ts';
import type { StatusView } from '../../own-paths/status/status-view.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { signingKeyOf } from '../../snapshot/signing/signing-key.ts';
import { type StatusReport, statusText } from './status-text.ts';

const snapshot = snapshotOf({
  'cp-a': { version: 'v1.25.0', serves: ['v1/pods', 'autoscaling/v2beta2/horizontalpodautoscalers'] },
  'cp-b': { version: 'v1.36.0', serves: ['v1/pods', 'apps/v1/deployments', 'apps/v1/daemonsets'] },
});

/** A running router, and a way to ask it by the command. */
async function runningRouter(context: TestContext, flags: StartedRouterOptions['flags'] = {}) {
  const started = await startRouterWithFiles(context, { flags });
  const admin = await started.user('admin', ['system:masters']);
  const stranger = await started.user('stranger');
  const files = new Map([
    ['ca.crt', started.authorities.cluster.certificate],
    ['admin.crt', admin.chain],
    ['admin.key', admin.privateKey],
    ['stranger.crt', stranger.chain],
    ['stranger.key', stranger.privateKey],
    ['front-proxy-ca.crt', started.authorities.frontProxies.certificate],
    ['token', 'not-of-this-cluster'],
  ]);
  const server = `--server=https://127.0.0.1:${started.port}`;
  const flagsOf = (user: string) => [
    'status',
    server,
    '--certificate-authority=ca.crt',
    `--client-certificate=${user}.crt`,
    `--client-key=${user}.key`,
  ];
  const askBy = (...flags: readonly string[]) => runCommand(files, ['status', server, ...flags]);
  const ask = (user: string, ...more: readonly string[]): Promise<Written & { readonly code: number }> =>
    runCommand(files, [...flagsOf(user), ...more]);
  /** One picture, and then Ctrl-C. */
  const watchOnce = (outputIsTerminal: boolean) =>
    runCommand(files, [...flagsOf('admin'), '--watch'], {
      outputIsTerminal,
      shutdownSignal: Promise.resolve('SIGTERM'),
    });
  const push = async () => {
    const session = openHttp2(context, {
      port: started.port,
      ca: started.authorities.cluster.certificate,
      pair: admin,
    });
    const body = await sealSnapshot(snapshot, signingKeyOf(started.snapshotKey.privateJwk));
    const { status } = await askOverHttp2(session, '/.mixed-version-proxy/v1/snapshot', {
      method: 'PUT',
      body,
    });
    assert.equal(status, 200);
  };
  return { started, admin, ask, askBy, push, watchOnce };
}

describe('status', () => {
  it('shows the warning of a --server-id that the snapshot does not have, which is no failure', async (context) => {
    const { ask, push } = await runningRouter(context, { 'server-id': ['cp-z'] });
    await push();
    const { code, output } = await ask('admin');
    assert.equal(code, 0);
    assert.match(
      output.replaceAll(/\n {4}/g, ' '),
      /^ {2}the snapshot has no server cp-z: .*"cp-a", "cp-b"/m,
    );
  });

  it('shows what a running router knows, as text and as JSON', async (context) => {
    const { ask, push } = await runningRouter(context);
    const early = await ask('admin');
    assert.match(early.output, /Snapshot: +none yet/);
    assert.match(early.output, /^Ready: +no: .*snapshot/m);
    assert.equal(early.code, 1);
    assert.equal((await ask('admin', '-o', 'json')).code, 1);
    await push();
    const { code, output } = await ask('admin');
    assert.equal(code, 0);
    assert.match(output, /^Ready: +yes$/m);
    assert.match(output, /^Router: +sidecar of cp-a, stale policy serve-stale$/m);
    assert.match(output, /^Snapshot: +generation 1, /m);
    assert.match(output, /^cp-b +v1\.36\.0 +unknown$/m);
    assert.match(output, /^GROUP +v1\.25\.0 +v1\.36\.0$/m);
    assert.match(output, /^apps +0 of 2 +2 of 2$/m);
    assert.match((await ask('admin', '-o', 'wide')).output, /^apps\/v1 deployments +- +yes$/m);
    assert.equal(JSON.parse((await ask('admin', '-o', 'json')).output).serverId, 'cp-a');
  });

  it('draws over its last picture on a terminal, and only there', async (context) => {
    const { watchOnce } = await runningRouter(context);
    const { code, output } = await watchOnce(true);
    assert.equal(code, 0);
    assert.ok(output.startsWith('\u001b[H\u001b[J'));
    assert.ok(!(await watchOnce(false)).output.includes('\u001b'));
  });

  it('says what to do when the router tells nothing, or cannot be reached', async (context) => {
    const { ask } = await runningRouter(context);
    const stranger = await ask('stranger');
    assert.equal(stranger.code, 1);
    assert.match(
      stranger.errors,
      /returned 403: forbidden: User "stranger" cannot get path "\/\.mixed-version-proxy\/v1\/status": the caller is neither in its --allowed-users/,
    );
    const wrongName = await ask('admin', '--tls-server-name=example.com');
    assert.equal(wrongName.code, 1);
    assert.match(wrongName.errors, /cannot be asked: .*example\.com/);
  });

  it('names the credentials that a router does not accept, and asks for some where there are none', async (context) => {
    const { started, askBy } = await runningRouter(context);
    const token = await askBy('--certificate-authority=ca.crt', '--token-file=token');
    assert.equal(token.code, 1);
    assert.match(token.errors, /returned 401: it does not accept the token in token$/m);
    const nobody = await askBy('--certificate-authority=ca.crt');
    assert.match(nobody.errors, /returned 401: it does not know who asks: give --client-certificate/);
    const home = await temporaryDirectory(context);
    const kubeconfig = join(home, 'config');
    const cluster = {
      server: `https://127.0.0.1:${started.port}`,
      'certificate-authority-data': Buffer.from(started.authorities.cluster.certificate).toString('base64'),
    };
    const config = {
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 'wrong' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(kubeconfig, JSON.stringify(config));
    const { errors } = await askBy(`--kubeconfig=${kubeconfig}`);
    assert.ok(errors.includes(`returned 401: it does not accept the credentials in ${kubeconfig}`), errors);
  });

  it('names the flag to look at where the router is of another CA', async (context) => {
    const { askBy } = await runningRouter(context);
    for (const flags of [['--certificate-authority=front-proxy-ca.crt'], []]) {
      const { code, errors } = await askBy('--token-file=token', ...flags);
      assert.equal(code, 1);
      assert.match(
        errors,
        /cannot be asked: .*\. Its certificate is of another CA: see --certificate-authority$/m,
      );
    }
  });

  it('names the kubeconfig where its CA is not that of the router', async (context) => {
    const { askBy, started } = await runningRouter(context);
    const kubeconfig = join(await temporaryDirectory(context), 'config');
    const cluster = {
      server: `https://127.0.0.1:${started.port}`,
      'certificate-authority-data': Buffer.from(started.authorities.frontProxies.certificate).toString(
        'base64',
      ),
    };
    const named = { clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: {} }] };
    const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
    await writeFile(kubeconfig, JSON.stringify({ ...named, contexts, 'current-context': 'x' }));
    const { code, errors } = await askBy(`--kubeconfig=${kubeconfig}`);
    assert.equal(code, 1);
    assert.ok(errors.includes(`of another CA: see certificate-authority in ${kubeconfig}, or give`), errors);
  });

  it('refuses files that TLS could not begin with before it asks, with exit code 2', async (context) => {
    const { askBy } = await runningRouter(context);
    const swapped = await askBy('--client-certificate=admin.crt', '--client-key=stranger.key');
    assert.equal(swapped.code, 2);
    assert.match(
      swapped.errors,
      /^error: --client-key: the key in stranger\.key does not belong to the first certificate of admin\.crt$/m,
    );
    const noise = await askBy('--token-file=token', '--certificate-authority=token');
    assert.equal(noise.code, 2);
    assert.match(noise.errors, /^error: --certificate-authority: token holds no PEM certificate$/m);
  });

  it('asks as the user of the kubeconfig files that KUBECONFIG lists, else of the usual one', async (context) => {
    const { started, admin } = await runningRouter(context);
    const home = await temporaryDirectory(context);
    const inline = (text: string) => Buffer.from(text).toString('base64');
    const cluster = {
      name: 'local',
      cluster: {
        server: `https://127.0.0.1:${started.port}`,
        'certificate-authority-data': inline(started.authorities.cluster.certificate),
      },
    };
    const user = {
      name: 'admin',
      user: {
        'client-certificate-data': inline(admin.chain),
        'client-key-data': inline(admin.privateKey),
      },
    };
    const contexts = [{ name: 'admin', context: { cluster: 'local', user: 'admin' } }];
    const write = async (name: string, config: object): Promise<string> => {
      const file = join(home, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
      return file;
    };
    const wrong = { name: 'local', cluster: { ...cluster.cluster, server: 'https://127.0.0.1:1' } };
    const all = { clusters: [cluster], users: [user], contexts, 'current-context': 'admin' };
    const listed = [
      join(home, 'missing'),
      await write('clusters', { clusters: [cluster] }),
      await write('users', { clusters: [wrong], users: [user], contexts, 'current-context': 'admin' }),
    ].join(delimiter);
    const ask = (environment: Record<string, string>, ...flags: string[]) =>
      runCommand(new Map(), ['status', '-o', 'yaml', ...flags], { environment });

    const { code, output } = await ask({ KUBECONFIG: listed });
    assert.equal(code, 1, 'not ready without a snapshot');
    assert.equal(parse(output).serverId, 'cp-a');

    const nothing = await ask({ HOME: home });
    assert.equal(nothing.code, 2);
    assert.match(nothing.errors, /--server is required.*or the variable KUBECONFIG/);
    const usual = await write('.kube/config', all);
    assert.equal(parse((await ask({ HOME: home })).output).serverId, 'cp-a');
    assert.equal(parse((await ask({ HOME: home }, '--context=admin')).output).serverId, 'cp-a');

    const broken = await ask({ KUBECONFIG: usual }, '--context=other');
    assert.equal(broken.code, 2);
    assert.ok(broken.errors.includes(`KUBECONFIG: ${usual} has no context other; it has admin`));
    const gone = await ask({ KUBECONFIG: join(home, 'missing'), HOME: home });
    assert.match(gone.errors, /KUBECONFIG: .*missing cannot be used as a kubeconfig/);
    const closed = await write('closed', { ...all, clusters: [wrong] });
    const refused = await ask({ KUBECONFIG: closed });
    assert.equal(refused.code, 1);
    assert.ok(refused.errors.includes(`https://127.0.0.1:1 (of ${closed}) cannot be asked`));
    // Flags that say all need no file, so a broken one is in nobody's way.
    const own = await runCommand(
      new Map([['token', 'x']]),
      ['status', '--server=https://127.0.0.1:1', '--token-file=token'],
      { environment: { KUBECONFIG: join(home, 'missing') } },
    );
    assert.match(own.errors, /https:\/\/127\.0\.0\.1:1 cannot be asked/);
  });

  it('tells of each file that a flag names once what is wrong with it', async () => {
    const files = new Map([
      ['noise', 'hunter2'],
      ['empty', ''],
    ]);
    const { code, errors } = await runCommand(files, [
      ...['status', '--server=https://router:6443', '--certificate-authority=noise', '--token-file=empty'],
      ...['--client-certificate=gone.crt', '--client-key=noise'],
    ]);
    assert.equal(code, 2);
    assert.deepEqual(errors.trimEnd().split('\n'), [
      'error: --client-certificate: cannot read gone.crt: ENOENT: no such file or directory',
      'error: --token-file: empty must hold one token and nothing else',
      'error: --certificate-authority: noise holds no PEM certificate',
    ]);
  });

  it('names every error of its flags at once', async () => {
    const { code, errors } = await runCommand(new Map([['token', 'two words']]), [
      'status',
      '--server=http://router',
      '--client-key=none.key',
      '--token-file=token',
      '--context=x',
    ]);
    assert.equal(code, 2);
    for (const issue of [
      /--client-key: cannot read none\.key/,
      /--client-certificate and --client-key go together/,
      /--server "http:\/\/router"/,
      /--token-file: token must hold one token/,
      /--context needs --kubeconfig/,
    ]) {
      assert.match(errors, issue);
    }
    assert.ok(!errors.includes('two words'));
  });
});

describe('the text of status', () => {
  const plain = { isWide: false, isColored: false };
  let report: StatusReport;
  const now = Date.parse('2026-01-01T00:05:00Z');
  const status: StatusView = {
    embeddedSync: null,
    found: [],
    form: 'gateway',
    serverId: null,
    enabled: true,
    stalePolicy: 'serve-stale',
    snapshot: {
      generation: 42,
      createdAt: '2026-01-01T00:00:00Z',
      expiresAt: '2026-01-01T00:04:00Z',
      expired: true,
      source: 'discovery',
    },
    servers: [
      {
        id: 'apiserver-2hb4bhxhxpo2wt5sc7ilxj7wxa',
        hostname: null,
        serves: null,
        local: false,
        address: '10.0.0.1:6443',
        addressSource: 'advertised',
        version: 'v1.25.16',
        stale: true,
        departedAt: null,
        health: { status: 'unhealthy', cause: 'unreachable', since: '2026-01-01T00:03:00Z' },
      },
    ],
    discovery: {
      conflictCount: 2,
      conflicts: [
        {
          group: 'apps',
          version: 'v1',
          resource: 'deployments',
          subresource: 'scale',
          field: 'kind',
          claims: [{ value: 'Scale', serverIds: ['cp-a'] }],
        },
      ],
    },
    documents: [{ path: '/apis', server: 'cp-b', problem: 'This router cannot read it.' }],
    warnings: ['--tls-cert-file: it expired \u001b[2J'],
  };
  before(() => {
    report = { status, cluster: clusterView(buildRoutingTable(snapshot)) };
  });

  it('says of an own snapshot, by the word that rows of routers have, when a server was last read', () => {
    const read = { source: 'sync.kubeconfig', lastReadAt: '2026-01-01T00:04:56Z', servers: [] };
    const text = statusText({ ...report, status: { ...status, embeddedSync: read } }, now, plain);
    assert.match(text, /^Snapshot: +generation 42, own, /m);
    assert.match(text, /^Read by: +this router, by sync\.kubeconfig, last 4 s ago$/m);
    const none = { ...status, snapshot: null, embeddedSync: { ...read, lastReadAt: null } };
    const unread = statusText({ status: none, cluster: undefined }, now, plain);
    assert.match(unread, /^Read by: +this router, by sync\.kubeconfig: no server has been read yet$/m);
  });

  it('names once why the router is not ready', () => {
    const cause = 'the cluster cannot be read: see --peer-ca-file';
    const failures = [{ name: 'snapshot', reason: `there has been no snapshot yet: ${cause}` }];
    const unready = { ...status, readiness: { ready: false, failures }, warnings: [cause, 'another one'] };
    const text = statusText({ ...report, status: unready }, now, { ...plain, isWide: true });
    assert.equal(text.split(cause).length, 2, text);
    assert.match(text, /^Warnings:\n {2}another one$/m);
  });

  it('tells of age, expiry, health, conflicts and warnings', () => {
    const text = statusText(report, now, plain);
    assert.match(text, /^Snapshot: +generation 42, pushed, 5 min 0 s old, expired 1 min 0 s ago$/m);
    assert.match(text, /^Healthy: +0 of 1$/m);
    assert.match(text, /unreachable 2 min 0 s +stale/);
    const wide = statusText(report, now, { ...plain, isWide: true });
    assert.match(wide, /unreachable 2 min 0 s +10\.0\.0\.1:6443 +its router +stale/);
    assert.match(text, /apps\/v1 deployments\/scale: kind "Scale" say cp-a\n {2}and 1 more/);
    assert.match(text, /^Not readable:\n {2}cp-b \/apis: This router cannot read it\.$/m);
    assert.match(text, /Warnings:\n {2}--tls-cert-file/);
  });

  it('tells of a server that has departed, and when', () => {
    const servers = status.servers.map((server) => ({ ...server, departedAt: '2026-01-01T00:03:00Z' }));
    const text = statusText({ ...report, status: { ...status, servers } }, now, plain);
    assert.match(text, / departed 2 min 0 s ago$/m);
    assert.doesNotMatch(text, /,stale| stale$/m);
    const healthy = servers.map((server) => ({ ...server, health: { ...server.health, status: 'healthy' } }));
    const gone = statusText({ ...report, status: { ...status, servers: healthy } }, now, plain);
    assert.match(gone, /^Healthy: +0 of 1$/m);
  });

  it('says when no version has a majority', () => {
    const preferredVersion = {
      configured: 'majority',
      minor: '1.25',
      enforcementDiffers: false,
      required: false,
    };
    const version = (preferredOf: StatusView['servers']) =>
      statusText(
        { ...report, status: { ...status, preferredVersion, servers: [...preferredOf] } },
        now,
        plain,
      );
    const up = { status: 'healthy', cause: null, since: null };
    const servers = status.servers.map((server) => ({ ...server, health: up }));
    const others = servers.map((server) => ({ ...server, id: 'other', version: 'v1.24.0' }));
    assert.match(version(servers), /^Version: +1\.25 \(majority\) serves what /m);
    assert.match(version([...servers, ...others]), /^Version: +1\.25 \(no majority: the newest\) /m);
  });

  it('names the version that answers while no server of the preferred one is healthy', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const up = { status: 'healthy', cause: null, since: null };
    const preferredVersion = {
      configured: 'newest',
      minor: '1.36',
      enforcementDiffers: true,
      required: false,
    };
    const version = (servers: StatusView['servers'], required = false) => {
      const preferring = { ...status, servers, preferredVersion: { ...preferredVersion, required } };
      const text = statusText({ status: preferring, cluster: undefined }, now, { ...plain, isWide: true });
      return /^Version: +(.*)$/m.exec(text)?.[1];
    };
    const of = (minor: number, changes: Partial<StatusView['servers'][number]> = {}) => ({
      ...server,
      id: `cp-${minor}`,
      version: `v1.${minor}.0`,
      health: up,
      ...changes,
    });
    const what = '1.36 (newest) is preferred for what servers understand differently, and for every write';
    assert.equal(
      version([of(25), of(26), of(36)]),
      '1.36 (newest) serves what servers understand differently, and every write, since they enforce different policies',
    );
    for (const changes of [
      { health: server.health },
      { departedAt: '2026-01-01T00:03:00Z' },
      { address: null },
    ]) {
      const servers = [of(25), of(26), of(36, changes)];
      assert.equal(version(servers), `${what}, but no server of it is healthy: 1.26 answers`);
      assert.equal(
        version(servers, true),
        `${what}, but no server of it is healthy: 1.26 answers reads, and writes get 503`,
      );
    }
    const newer = [of(25), of(36, { health: server.health }), of(37)];
    assert.equal(version(newer, true), `${what}, but no server of it is healthy: 1.37 answers`);
    const nothing = [25, 26, 36].map((minor) => of(minor, { health: server.health }));
    assert.equal(version(nothing), `${what}, but no server is healthy: requests get 503`);
  });

  it('counts servers that have departed apart', () => {
    const departedAt = '2026-01-01T00:03:00Z';
    const text = (servers: Parameters<typeof snapshotOf>[0]) =>
      statusText({ status, cluster: clusterView(buildRoutingTable(snapshotOf(servers))) }, now, plain);
    const left = { version: 'v1.36.0', serves: ['v1/pods'], departedAt };
    const there = { version: 'v1.25.0', serves: ['v1/pods'] };
    assert.match(text({ a: there, b: left }), /^Servers: +1, all alike: 1 v1\.25\.0; 1 departed$/m);
    assert.match(text({ b: left }), /^Servers: +1, all departed$/m);
  });

  it('has colours where they are asked for, and says the same without', () => {
    const colored = statusText(report, now, { ...plain, isColored: true });
    assert.ok(colored.includes('\u001b[31munreachable 2 min 0 s\u001b[0m'));
    assert.equal(stripVTControlCharacters(colored), statusText(report, now, plain));
  });

  it('lets no router steer the terminal', () => {
    assert.ok(!statusText(report, now, plain).includes('\u001b'));
  });

  it('has the names of machines in place of IDs, and in the wide form both', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const named = snapshotOf({ [server.id]: { hostname: 'cp-1', serves: ['v1/pods'] } });
    const nameless = { ...server, id: 'endpoint-10-0-0-2-6443' };
    const both = {
      status: { ...status, servers: [server, nameless] },
      cluster: clusterView(buildRoutingTable(named)),
    };
    assert.match(statusText(both, now, plain), /^cp-1 +v1\.25\.16 /m);
    const wide = statusText(both, now, { ...plain, isWide: true });
    assert.match(wide, /^SERVER +ID +VERSION /m);
    assert.match(wide, /^cp-1 +apiserver-2hb4bhxhxpo2wt5sc7ilxj7wxa +v1\.25\.16 /m);
    assert.match(wide, /^endpoint-10-0-0-2-6443 +endpoint-10-0-0-2-6443 +v1\.25\.16 /m);
  });

  it('fits 80 columns, with twelve versions, hashed IDs, long names and long warnings', () => {
    const ids = Array.from({ length: 12 }, (_, index) => `apiserver-2hb4bhxhxpo2wt5sc7ilxj7w${index}`);
    const many = snapshotOf(
      Object.fromEntries(
        ids.map((id, index) => [
          id,
          {
            serves: ['v1/pods', `a-group-with-a-long-name-of-its-own.example.com/v1/things${index}`],
            version: `v1.${index + 20}.0-rc.1+build`,
            hostname: `control-plane-${index}.eu-central-1.compute.example.com`,
          },
        ]),
      ),
    );
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const text = statusText(
      {
        status: {
          ...status,
          serverId: ids[0] ?? null,
          servers: ids.map((id) => ({ ...server, id, local: id === ids[0], version: 'v1.20.0-rc.1+build' })),
          warnings: [`${'a warning that goes on and on, '.repeat(9)}${'x'.repeat(200)}`],
        },
        cluster: clusterView(buildRoutingTable(many)),
      },
      now,
      plain,
    );
    for (const line of text.split('\n')) assert.ok(line.length <= 80, line);
    for (const version of ['v1.20.0-rc.1+build', 'v1.31.0-rc.1+build']) assert.ok(text.includes(version));
    // As people count them.
    assert.ok(text.indexOf('\ncontrol-plane-2.') < text.indexOf('\ncontrol-plane-10.'));
  });

  it('names what no healthy server serves', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const servers = ['cp-a', 'cp-b'].map((id) => ({ ...server, id }));
    const up = { status: 'healthy', cause: null, since: null };
    const text = (first: typeof up | typeof server.health) =>
      statusText(
        {
          ...report,
          status: {
            ...status,
            servers: servers.map((one, index) => (index === 0 ? { ...one, health: first } : one)),
          },
        },
        now,
        { ...plain, isWide: true },
      );
    assert.match(
      text(up),
      /^Down: +no healthy server serves apps\/v1 daemonsets, apps\/v1 deployments: 503$/m,
    );
    assert.match(text(server.health), /^Down: +every API server: requests get 503$/m);
  });

  it('says so when all servers serve the same', () => {
    const alike = snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] });
    const cluster = clusterView(buildRoutingTable(alike));
    assert.match(statusText({ status, cluster }, now, plain), /All servers serve the same 1 resource\./);
  });
});
