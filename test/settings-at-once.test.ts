import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import type { TakesEffect } from '../src/cli/flags/flag.ts';
import { type ServeFlag, serveFlags } from '../src/cli/flags/serve-flags.ts';
import { registerServe, type ServingRouter } from '../src/cli/serve/serve-command.ts';
import { CliCommand } from '../src/cli/terminal/cli-command.ts';
import type { ServeConfig } from '../src/node/configuration/serve-config.ts';
import { startRouter } from '../src/node/process/start-router.ts';
import type { ConfigurationReading, ConfigurationSource } from '../src/node/reload/configuration-source.ts';
import { openEmbeddedSync } from '../src/sync/node/embedded/embedded-sync.ts';
import { assertionKeysFile, speaker } from './support/assertions.ts';
import {
  configuration as authenticationConfiguration,
  authenticator,
  goodIssuer,
} from './support/authentication-configuration.ts';
import { commandContext } from './support/command-context.ts';
import { isSection, RecordedReads } from './support/recorded-reads.ts';
import { serveFiles } from './support/serve-options.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

/*
 * A setting whose flag says that a change of it counts at once (`FlagDefinition.change`) has to be read again by a
 * reload. Here all of them change in the configuration file of a router that `serve` has started, and for each the
 * router has to read what the change makes of `ServeConfig`: in the reload itself, or in the shutdown after it.
 */

type LiveFlagName = Exclude<ServeFlag, { readonly change: 'restart' }>['name'];

/** Two values of a setting, as its key in a configuration file has them. Left out: it is not given. */
interface Change {
  readonly before?: unknown;
  readonly after: unknown;
}

/** Of a router that snapshots are pushed to, and of one that reads the cluster itself. */
type Form = 'pushed' | 'embedded';

const changes: Readonly<Record<LiveFlagName, Change & { readonly onlyIn?: Form }>> = {
  'local-server-ca-file': { before: 'local-ca.crt', after: 'other-ca.crt' },
  'peer-ca-file': { before: 'peer-ca.crt', after: 'other-ca.crt' },
  'proxy-client-cert-file': { before: 'front-proxy-client.crt', after: 'other-front-proxy-client.crt' },
  'proxy-client-key-file': { before: 'front-proxy-client.key', after: 'other-front-proxy-client.key' },
  'extension-routing': { after: 'extension' },
  'allowed-peer-cidrs': { after: ['10.0.0.0/8'] },
  'allow-loopback-peers': { after: true },
  kubeconfig: { onlyIn: 'embedded', before: 'kubeconfig', after: 'other-kubeconfig' },
  context: { onlyIn: 'embedded', after: 'b' },
  server: { onlyIn: 'embedded', after: ['cp-b=https://10.0.0.8:6443'] },
  'departed-server-grace': { onlyIn: 'embedded', after: '16m' },
  cluster: { onlyIn: 'embedded', after: 'staging' },
  'snapshot-keys': { onlyIn: 'pushed', before: 'snapshot-keys.json', after: 'other-snapshot-keys.json' },
  'preferred-version': { after: 'newest' },
  'preferred-version-scope': { after: 'all' },
  'preferred-version-required': { after: true },
  'local-server-down-policy': { after: 'unavailable' },
  'health-check-interval': { after: '6s' },
  'health-check-timeout': { after: '4s' },
  'health-check-rise': { after: 3 },
  'health-check-fall': { after: 4 },
  'slow-start-duration': { after: '31s' },
  'tls-cert-file': { before: 'serving.crt', after: 'other-serving.crt' },
  'tls-private-key-file': { before: 'serving.key', after: 'other-serving.key' },
  'tls-sni-cert-key': {
    before: [{ certFile: 'sni.crt', keyFile: 'sni.key', names: ['a.example'] }],
    after: [{ certFile: 'sni.crt', keyFile: 'sni.key', names: ['b.example'] }],
  },
  'file-check-interval': { before: '24h', after: '23h' },
  'request-timeout': { after: '61s' },
  'dial-timeout': { after: '6s' },
  'response-header-timeout': { before: '40s', after: '41s' },
  'max-requests-inflight': { after: 4001 },
  'max-mutating-requests-inflight': { after: 2001 },
  'max-long-running-requests': { after: 20_001 },
  'max-connections': { after: 1_000 },
  'goaway-chance': { after: 0.01 },
  'shutdown-delay-duration': { after: '1ms' },
  'shutdown-send-retry-after': { after: true },
  'shutdown-watch-termination-grace-period': { after: '9s' },
  'client-ca-file': { before: 'ca.crt', after: 'other-ca.crt' },
  'requestheader-client-ca-file': { before: 'front-proxy-ca.crt', after: 'other-front-proxy-ca.crt' },
  'requestheader-allowed-names': { before: ['front-proxy-client'], after: ['another'] },
  'authentication-config': { before: 'authentication.json', after: 'other-authentication.json' },
  'service-account-issuer': { before: ['https://sa.example'], after: ['https://other.example'] },
  'service-account-key-file': { before: ['serving.crt'], after: ['other-serving.crt'] },
  'api-audiences': { before: ['kubernetes'], after: ['other'] },
  'allowed-groups': { after: ['operators'] },
  'allowed-users': { after: ['jane'] },
  'assertion-keys': { before: 'assertion-keys.json', after: 'other-assertion-keys.json' },
  v: { after: 3 },
  'logging-format': { after: 'json' },
};

/** Settings that only a start takes. */
const fixed = { 'server-id': 'cp-a', 'local-server': 'https://127.0.0.1:1' };

/** Options of other modules, which a configuration holds for them and nothing takes apart on the way. */
const handedOverWhole = ['health', 'limits.requestsInFlight', 'preferredVersion'];

async function allFiles(): Promise<ReadonlyMap<string, string>> {
  const files = await serveFiles();
  const others = [...files].map(([name, text]) => [`other-${name}`, `${text}\n`] as const);
  const [known, another] = [await speaker('cp-b'), await speaker('cp-c')];
  const issuer = (url: string) =>
    JSON.stringify(authenticationConfiguration(authenticator({ issuer: { ...goodIssuer, url } })));
  const contexts = (server: string) => ({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    contexts: ['a', 'b'].map((name) => ({ name, context: { cluster: 'c', user: 'u' } })),
    clusters: [{ name: 'c', cluster: { server } }],
    users: [{ name: 'u', user: { token: 't' } }],
  });
  return new Map([
    ...files,
    ...others,
    // Each flag has files of its own.
    ['local-ca.crt', files.get('ca.crt') ?? ''],
    ['peer-ca.crt', files.get('ca.crt') ?? ''],
    ['sni.crt', files.get('serving.crt') ?? ''],
    ['sni.key', files.get('serving.key') ?? ''],
    ['other-snapshot-keys.json', JSON.stringify({ keys: [known.publicJwk] })],
    ['assertion-keys.json', assertionKeysFile([known])],
    ['other-assertion-keys.json', assertionKeysFile([another])],
    ['authentication.json', issuer('https://issuer.example')],
    ['other-authentication.json', issuer('https://other-issuer.example')],
    ['kubeconfig', JSON.stringify(contexts('https://127.0.0.1:1'))],
    ['other-kubeconfig', JSON.stringify(contexts('https://127.0.0.1:2'))],
  ]);
}

const flagsOf = (form: Form): readonly LiveFlagName[] =>
  serveFlags.flatMap(({ name, change }) =>
    isLive(name, change) && (changes[name].onlyIn ?? form) === form ? [name] : [],
  );

function isLive(name: string, change: TakesEffect): name is LiveFlagName {
  return change !== 'restart' && Object.hasOwn(changes, name);
}

/** The text of a configuration file in which these settings have their later values. */
function fileText(form: Form, changed: readonly LiveFlagName[]): string {
  const configuration: Section = {
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'RouterConfiguration',
  };
  const given = new Map<string, unknown>(Object.entries(fixed));
  for (const name of flagsOf(form))
    given.set(name, changes[name][changed.includes(name) ? 'after' : 'before']);
  for (const { name, key } of serveFlags) {
    if (given.get(name) === undefined) continue;
    const steps = key.split('.');
    const value = steps.reduceRight<unknown>((inner, step) => ({ [step]: inner }), given.get(name));
    mergeInto(configuration, value as Section);
  }
  return JSON.stringify(configuration);
}

type Section = Record<string, unknown>;

function mergeInto(section: Section, added: Section): void {
  for (const [name, value] of Object.entries(added)) {
    const known = section[name];
    if (isSection(known) && isSection(value)) mergeInto(known, value);
    else section[name] = value;
  }
}

type Observe = (reading: ConfigurationReading) => ConfigurationReading;

/** Has `serve` start a router with a configuration file. @param observe gets what each reload goes by */
async function serve(context: TestContext, form: Form, observe: Observe) {
  const directory = await temporaryDirectory(context);
  const path = (name: string): string => join(directory, name);
  for (const [name, text] of await allFiles()) await writeFile(path(name), text);
  await writeFile(path('router.yaml'), fileText(form, []));
  const started = Promise.withResolvers<{
    config: ServeConfig;
    source: ConfigurationSource;
    router: ServingRouter;
  }>();
  const end = Promise.withResolvers<'SIGTERM'>();
  const surroundings = commandContext(new Map(), { shutdownSignal: end.promise });
  const command = { ...surroundings.context, readFile: (file: string) => readFileSync(file, 'utf8') };
  const program = new CliCommand('mixed-version-proxy').exitOverride();
  registerServe(
    program,
    command,
    () => {},
    async () => async (config, logger, options) => {
      const source = options.configurationSource;
      assert.ok(source);
      const read: ConfigurationSource['read'] = async (...given) => observe(await source.read(...given));
      const configurationSource = { ...source, read };
      const router = await startRouter(config, logger, { ...options, configurationSource, openEmbeddedSync });
      context.after(() => router.close(0));
      started.resolve({ config, source, router });
      return router;
    },
  );
  const ended = program.parseAsync(
    ['serve', `--config=${path('router.yaml')}`, '--bind-address=127.0.0.1', '--secure-port=0'],
    { from: 'user' },
  );
  const failed = ended.then(() => assert.fail(surroundings.written.errors));
  return {
    ...(await Promise.race([started.promise, failed])),
    path,
    async shutdown() {
      failed.catch(() => {});
      end.resolve('SIGTERM');
      await ended;
    },
  };
}

/** The values of each setting that a reload does not read, after a change of all of them. */
async function unreadByReload(context: TestContext, form: Form) {
  const reads = new RecordedReads(handedOverWhole);
  let readByThen: ReadonlySet<string> = new Set();
  const { source, router, path, shutdown } = await serve(context, form, (reading) => ({
    ...reading,
    config: reads.of(reading.config),
    taken() {
      readByThen = new Set(reads.paths);
      reading.taken();
    },
  }));
  const read = async (changed: readonly LiveFlagName[]) => {
    const texts = new Map([[path('router.yaml'), fileText(form, changed)]]);
    return { ...(await source.read(texts)).config, commandLine: {} };
  };
  const same = await read([]);
  await writeFile(path('router.yaml'), fileText(form, flagsOf(form)));
  await router.reload();
  await shutdown();
  // Whoever goes on to watch the files reads all that they hold.
  const isOfAFile = (value: string) => /\.(?:path|pem|text)$/.test(value);
  const isRead = (value: string) => (isOfAFile(value) ? readByThen : reads.paths).has(value);
  const unread = new Map<LiveFlagName, readonly string[]>();
  for (const name of flagsOf(form)) {
    const differing = reads.differing(same, await read([name]));
    // Where a file is, and what it holds, is for those who watch it; what was made of that counts.
    const parsed = differing.filter((value) => !/\.(?:path|text)$/.test(value));
    const counts = parsed.length > 0 ? parsed : differing;
    const missing = counts.filter((value) => !isRead(value));
    if (counts.length === 0) unread.set(name, ['nothing differs']);
    else if (missing.length > 0) unread.set(name, missing);
  }
  return unread;
}

/** The files that settings which count at once name, each with its setting. */
function namedFiles(form: Form): readonly (readonly [LiveFlagName, string])[] {
  return flagsOf(form).flatMap((name) => {
    const isPath = serveFlags.find((flag) => flag.name === name)?.value.isPath === true;
    // Read again whenever a token's key is not known.
    if (!isPath || name === 'service-account-key-file') return [];
    const names = JSON.stringify(changes[name].before).match(/[\w-]+\.(?:crt|key|json)|kubeconfig/g) ?? [];
    return names.map((file) => [name, file] as const);
  });
}

for (const form of ['pushed', 'embedded'] as const) {
  it(`every setting that counts at once is read by a reload (${form})`, async (context) => {
    assert.deepEqual([...(await unreadByReload(context, form))], []);
  });

  it(`every file that such a setting names is looked after (${form})`, async (context) => {
    let readings = 0;
    const { router, path, shutdown } = await serve(context, form, (reading) => {
      readings += 1;
      return reading;
    });
    const unwatched: string[] = [];
    for (const [flag, name] of namedFiles(form)) {
      const before = readings;
      await appendFile(path(name), '\n');
      await router.reload();
      if (readings === before) unwatched.push(`--${flag}: ${name}`);
    }
    await shutdown();
    assert.deepEqual(unwatched, []);
    assert.ok(readings > 10);
  });
}
