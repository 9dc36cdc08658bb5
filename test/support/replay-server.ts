import { existsSync, readdirSync, readFileSync } from 'node:fs';
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
  const plain = plainAnswers(folder);
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

/** One file per response, with its status in the name where that is not 200 (test/fixtures/README.md). */
function plainAnswers(folder: string): ReadonlyMap<string, Recorded> {
  return new Map(
    readdirSync(folder).flatMap((file): [string, Recorded][] => {
      const [, name, code = '200'] =
        /^((?:apis?|version|openapi)(?:__.*?)?)(?:\.(\d{3}))?\.(?:json|txt)$/.exec(file) ?? [];
      if (name === undefined) return [];
      return [[`/${name.replaceAll('__', '/')}`, json(Number(code), read(folder, file))]];
    }),
  );
}

const v2beta1 = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/** `/api` and `/apis` for who asks for the aggregated form and will have no other, or where the server knows it. */
function aggregatedAnswers(
  folder: string,
): (path: string, accept: string | undefined) => Recorded | undefined {
  const recorded = new Map(
    ['api', 'apis'].map((name) => {
      const file = `aggregated_${name}.json`;
      const body = existsSync(join(folder, file)) ? read(folder, file) : undefined;
      return [`/${name}`, body === undefined ? json(406, '') : { code: 200, contentType: v2beta1, body }];
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
