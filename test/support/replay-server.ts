import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { negotiateMediaType, parseAccept } from '../../src/apimachinery/accept.ts';
import type { CertificatePair } from './certificates.ts';
import { openHttpsServer } from './https-server.ts';
import type { RecordedClusterName } from './recorded-cluster.ts';

/** An answer that stands in for the recorded one. */
export type ReplayAnswer = (request: IncomingMessage, response: ServerResponse) => void;

export interface ReplayServer {
  readonly id: string;
  readonly port: number;
  /** `https://127.0.0.1:port` */
  readonly url: string;
  /** By path; may be changed while it runs. */
  readonly answers: Map<string, ReplayAnswer>;
  close(): Promise<void>;
}

/** Where the recordings of a cluster lie, see test/fixtures/README.md. */
export function recordedFolder(cluster: RecordedClusterName): string {
  return fileURLToPath(new URL(`../fixtures/${cluster}/`, import.meta.url));
}

interface Recorded {
  readonly code: number;
  readonly contentType: string;
  readonly body: string;
}

/**
 * A kube-apiserver as it was recorded, over HTTPS: discovery in every form it had, the OpenAPI v3 index, and the
 * plain 404 for everything else. It takes every caller.
 */
export async function startReplayServer(
  cluster: RecordedClusterName,
  id: 'a' | 'b',
  { chain, privateKey }: CertificatePair,
): Promise<ReplayServer> {
  const folder = join(recordedFolder(cluster), id);
  const plain = plainAnswers(folder, id);
  const aggregated = aggregatedAnswers(folder);
  const unknown: Recorded = {
    code: 404,
    contentType: 'text/plain; charset=utf-8',
    body: '404 page not found\n',
  };
  const answers = new Map<string, ReplayAnswer>();
  const { port, close } = await openHttpsServer({ cert: chain, key: privateKey }, (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    const instead = answers.get(path);
    if (instead !== undefined) {
      instead(request, response);
      return;
    }
    const recorded = aggregated(path, request.headers.accept) ?? plain.get(path) ?? unknown;
    response.writeHead(recorded.code, { 'content-type': recorded.contentType, vary: 'Accept' });
    response.end(recorded.body);
  });
  return { id, port, url: `https://127.0.0.1:${port}`, answers, close };
}

function plainAnswers(folder: string, id: string): ReadonlyMap<string, Recorded> {
  const codes = new Map<string, number>();
  for (const line of readFileSync(join(folder, 'status.txt'), 'utf8').trim().split('\n')) {
    const [server, path, code] = line.split(' ');
    if (server === id && path !== undefined) codes.set(path, Number(code));
  }
  const files = readdirSync(folder).filter((file) => /^(api|apis|version)(__.*)?\.json$/.test(file));
  const answers = files.map((file): [string, Recorded] => {
    const path = `/${file.replace(/\.json$/, '').replaceAll('__', '/')}`;
    return [path, json(codes.get(path) ?? 200, readFileSync(join(folder, file), 'utf8'))];
  });
  const index = readFileSync(join(folder, 'openapi_v3.json'), 'utf8');
  return new Map([...answers, ['/openapi/v3', json(200, index)]]);
}

/** `/api` and `/apis` for who asks for the aggregated form and will have no other, or where the server knows it. */
function aggregatedAnswers(
  folder: string,
): (path: string, accept: string | undefined) => Recorded | undefined {
  const recorded = new Map(
    ['api', 'apis'].map((name) => {
      const [code = '', contentType = ''] = read(folder, `aggregated_${name}.ct`).trim().split(' ', 2);
      const body = read(folder, `aggregated_${name}.json`);
      return [`/${name}`, { code: Number(code), contentType, body }];
    }),
  );
  const offer = {
    mediaType: 'application/json',
    conversion: { group: 'apidiscovery.k8s.io', version: 'v2beta1', kind: 'APIGroupDiscoveryList' },
  };
  return (path, accept) => {
    const answer = recorded.get(path);
    const clauses = parseAccept(accept);
    if (answer?.code === 200 && negotiateMediaType(clauses, [offer]) !== undefined) return answer;
    const plainWillDo = negotiateMediaType(clauses, [{ mediaType: 'application/json' }]) !== undefined;
    return answer === undefined || plainWillDo ? undefined : json(406, '');
  };
}

function read(folder: string, name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

function json(code: number, body: string): Recorded {
  return { code, contentType: 'application/json', body };
}
