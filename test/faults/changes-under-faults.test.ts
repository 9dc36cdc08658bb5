import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { PemFile, ServeConfig } from '../../src/node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../src/node/credentials/credentials.ts';
import { type Protocol, protocols } from '../support/api-servers/api-server-double.ts';
import { eventually } from '../support/eventually.ts';
import { proxyClientPair } from '../support/security/certificates.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { answerWell, event, type Script } from './laboratory/asked.ts';
import { inLaboratory, type Laboratory, type Member } from './laboratory/laboratory.ts';

/** Certificates and keys where a router can read them again. */
interface CredentialFiles {
  /** The same configuration with the paths of real files. */
  readonly config: ServeConfig;
  /** Reads them again. */
  readonly source: ConfigurationSource;
  /** @param name as in the configuration, such as `front-proxy-client.crt` */
  write(name: string, pem: string): Promise<void>;
}

/** Writes every PEM file that a configuration names into a directory, which goes when the test ends. */
async function writeCredentialFiles(context: TestContext, config: ServeConfig): Promise<CredentialFiles> {
  const directory = await temporaryDirectory(context);
  const pending: Promise<void>[] = [];
  const pathOf = (name: string): string => join(directory, basename(name));
  const withPaths = withFiles(config, (file) => {
    pending.push(writeFile(pathOf(file.path), 'pem' in file ? file.pem : file.text));
    return { ...file, path: pathOf(file.path) };
  });
  await Promise.all(pending);
  return {
    config: withPaths,
    source: {
      read: async (texts) =>
        withFiles(withPaths, (file) => {
          const text = texts.get(file.path);
          if (text === undefined) return file;
          return 'pem' in file ? { ...file, pem: text } : { ...file, text };
        }),
    },
    write: (name, pem) => writeFile(pathOf(name), pem),
  };
}

/** A configuration with other files, wherever in it they are. */
function withFiles(
  config: ServeConfig,
  replace: (file: PemFile | TextFile) => PemFile | TextFile,
): ServeConfig {
  const replaced = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replaced);
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
      return value;
    if (isFile(value)) return replace(value);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner)]));
  };
  return replaced(config) as ServeConfig;
}

type TextFile = ServeConfig['credentialFiles'][number];

function isFile(value: object): value is PemFile | TextFile {
  return 'path' in value && ('pem' in value || 'text' in value);
}

const jobs = 'batch/v1/jobs';
const target = '/apis/batch/v1/jobs';
const pairs = protocols.flatMap((server) => protocols.map((client) => ({ server, client })));

const list = (protocol: Protocol) => ({ protocol, caller: 'alice', method: 'GET', target }) as const;
const create = (protocol: Protocol) =>
  ({ protocol, caller: 'admin', method: 'POST', target, body: '{"kind":"Job"}' }) as const;
const watch = (protocol: Protocol) => ({ ...list(protocol), target: `${target}?watch=true` }) as const;

/** As a server that does not have the resource. */
const notFound: Script = (asked) => {
  asked.begin(404, { 'content-length': '0' });
  asked.end();
};

/**
 * Every third request loses its connection, and those that wait behind it lose theirs with it. What has been answered
 * is with its client by then: a reset would throw away what is on its way, and a write would be told, rightly, that
 * nobody knows whether it was carried out, though the record has an answer of the server.
 */
function unreliable(laboratory: Laboratory): Script {
  const hasArrived = (requestId: string): boolean =>
    laboratory.answers.some((answer) => answer.requestId === requestId && answer.end !== 'open');
  let requests = 0;
  let cutting: Promise<void> | undefined;
  return async (asked) => {
    requests++;
    if (requests % 3 === 0) {
      cutting = eventually(() =>
        laboratory.seen.every(({ requestId, answer }) => answer.end !== 'whole' || hasArrived(requestId)),
      );
      await cutting;
      cutting = undefined;
      asked.cut();
      return;
    }
    // At once where nothing is about to be cut: what is answered a moment later would be missing in the look above.
    if (cutting !== undefined) await cutting;
    // Nobody gets what is said on a connection that was cut.
    if (!asked.isCut && !asked.seen.isOver) await answerWell(asked);
  };
}

/** A local server without jobs, and two others with them: the first one as it is told, the second one well. */
async function twoPeers(laboratory: Laboratory, protocol: Protocol, script: Script) {
  const local = await laboratory.startServer('local', { protocols: [protocol], script: notFound });
  const faulty = await laboratory.startServer('faulty', { protocols: [protocol], script });
  const healthy = await laboratory.startServer('healthy', { protocols: [protocol] });
  const members: readonly Member[] = [
    { name: 'faulty', port: faulty.port, serves: [jobs] },
    { name: 'healthy', port: healthy.port, serves: [jobs], isHealthy: true },
    { name: 'local', port: local.port, serves: ['core/v1/pods'] },
  ];
  return { local, faulty, healthy, members };
}

for (const { server, client } of pairs) {
  const between = `${client} to the router, ${server} to the servers`;

  inLaboratory(
    `a peer that dies in the middle of a shutdown takes down what it carried, and no more (${between})`,
    async (laboratory) => {
      const { faulty, members } = await twoPeers(laboratory, server, (asked) => {
        asked.begin(200);
        asked.send(asked.isWatch ? event(1) + event(2).slice(0, 5) : '{"items":[');
      });
      await laboratory.startRouter(members, { flags: { 'shutdown-watch-termination-grace-period': ['2s'] } });
      // Each goes to the server that has less to do, the first one where both have as much.
      const watched = await laboratory.open(watch(client));
      const elsewhere = await laboratory.open(watch(client));
      const listed = await laboratory.open(list(client));
      await eventually(() => laboratory.answers.every(({ content }) => content !== ''));
      const ended = laboratory.drain();
      await faulty.stop();
      await ended;
      await eventually(() => laboratory.answers.every(({ end }) => end !== 'open'));
      assert.equal(watched.answer.end, 'broken', 'in the middle of an event');
      assert.equal(listed.answer.end, 'broken');
      assert.deepEqual([elsewhere.answer.end, elsewhere.answer.content], ['whole', event(1)]);
    },
  );

  inLaboratory(
    `the front-proxy pair changes while a peer loses connections (${between})`,
    async (laboratory) => {
      const { members } = await twoPeers(laboratory, server, unreliable(laboratory));
      const rounds = 4;
      let files: CredentialFiles | undefined;
      await laboratory.startRouter(members, {
        async configure(config) {
          files = await writeCredentialFiles(laboratory.context, config);
          return files.config;
        },
        source: () => files?.source,
      });
      for (let round = 0; round < rounds; round++) {
        const underWay = [list(client), create(client), list(client)].map((request) =>
          laboratory.ask(request),
        );
        // The same pair in other bytes: what is in use is built anew.
        await files?.write('front-proxy-client.crt', `${proxyClientPair.chain}# ${round}\n`);
        await laboratory.router.reload();
        for (const answer of await Promise.all(underWay)) assertAnswered(answer);
      }
      const reloads = laboratory.logLines.filter((line) =>
        /^\{"level".*front-proxy-client\.crt.*Reloaded: /.test(line),
      );
      assert.equal(reloads.length, rounds);
    },
  );

  inLaboratory(
    `a resource moves between servers while requests for it are under way (${between})`,
    async (laboratory) => {
      const { members } = await twoPeers(laboratory, server, answerWell);
      await laboratory.startRouter(members);
      const watching = await laboratory.open(watch(client));
      await eventually(() => watching.answer.content === event(1));
      for (let round = 0; round < 6; round++) {
        const underWay = [list(client), create(client), list(client)].map((request) =>
          laboratory.ask(request),
        );
        const leaving = round % 2 === 0 ? 'faulty' : 'healthy';
        await laboratory.push(
          members.map((member) => (member.name === leaving ? { ...member, serves: [] } : member)),
        );
        for (const { status, end } of await Promise.all(underWay))
          assert.deepEqual([status, end], [200, 'whole']);
      }
      assert.equal(
        watching.answer.end,
        'open',
        'what has been answered goes on, wherever the resource is now',
      );
      watching.giveUp();
    },
  );

  inLaboratory(
    `a server that was gone answers again as soon as it is back (${between})`,
    async (laboratory) => {
      const { faulty, members } = await twoPeers(laboratory, server, answerWell);
      await laboratory.startRouter(members.filter(({ name }) => name !== 'healthy'));
      for (let round = 0; round < 2; round++) {
        const watching = await laboratory.open(watch(client));
        await eventually(() => watching.answer.content === event(1));
        assert.equal((await laboratory.ask(list(client))).status, 200);
        await faulty.stop();
        await eventually(() => watching.answer.end === 'whole');
        for (const request of [list(client), create(client)]) {
          const { status, content } = await laboratory.ask(request);
          assert.equal(status, 503);
          assert.match(content, /the request was not carried out/);
        }
        await faulty.start();
        assert.equal((await laboratory.ask(create(client))).status, 200);
      }
    },
  );
}

/** A read always; a write unless its connection was lost behind it. */
function assertAnswered({ method, status, end, content }: Awaited<ReturnType<Laboratory['ask']>>): void {
  assert.equal(end, 'whole');
  if (method === 'POST' && status === 503) assert.match(content, /may have been carried out/);
  else assert.equal(status, 200, content);
}
