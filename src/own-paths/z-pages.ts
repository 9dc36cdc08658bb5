import { Hono } from 'hono';
import { negotiateMediaType, notAcceptableMessage, parseAccept } from '../apimachinery/accept.ts';
import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { HandlerEnvironment } from '../request/router.ts';
import type { AllowedCallers } from './allowed-callers.ts';
import { onlyMonitors } from './only-allowed-callers.ts';
import type { SettingsState } from './status/setting-change.ts';

/** What `statusz` and `flagz` tell. */
export interface ProcessFacts {
  /** The version of the router, for example `v0.1.0`. */
  readonly version: string;
  /** What it runs on, for example `v26.1.0`. */
  readonly nodeVersion: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Of the configuration in use: routers with the same one are configured alike. */
  readonly configHash: string;
  /** Every flag with the value in use, defaults included, secrets masked. */
  readonly flags: Readonly<Record<string, string>>;
}

export interface ZPagesOptions {
  readonly facts: ProcessFacts;
  /** Default: no setting waits for a restart. */
  readonly settings?: SettingsState | undefined;
  /** The local server's ID in the snapshot in use. Default: the one of the start. */
  readonly localServerId?: (() => string | undefined) | undefined;
  /** Under what metrics and z-pages are, as the pages themselves say. Default: under no prefix. */
  readonly prefix?: string | undefined;
}

/** Other pages that an operator looks for from here, as KEP-4827 lists them. */
function pathsOf(prefix: string): string[] {
  const own = ['/flagz', '/metrics', '/metrics/slis'].map((path) => `${prefix}${path}`);
  return [...own, '/healthz', '/livez', '/readyz'].sort();
}

const component = 'mixed-version-proxy';
const notice =
  'For people to read: the form of this text can change with every version. Ask for JSON to parse it.';

/**
 * `statusz` and `flagz` (KEP-4827, KEP-4828): plain text, or with `Accept: application/json` (also with
 * Kubernetes' `;g=config.k8s.io;v=v1beta1;as=Statusz`) the kinds `Statusz` and `Flagz`. For allowed callers and for
 * the group `system:monitoring`.
 *
 * @param allowed `everyone` where it is the address that keeps others away
 * @param clock milliseconds since the epoch
 */
export function zPages(
  { facts, settings, localServerId, prefix = '' }: ZPagesOptions,
  allowed: AllowedCallers | 'everyone',
  clock: () => number,
): Hono<HandlerEnvironment> {
  const app = new Hono<HandlerEnvironment>();
  const guard = onlyMonitors(allowed);
  const paths = pathsOf(prefix);
  app.get('/statusz', guard, ({ var: { inbound } }) => {
    const { version, nodeVersion, startedAt, configHash } = facts;
    const uptimeSeconds = Math.max(0, Math.floor((clock() - startedAt) / 1000));
    const startTime = new Date(startedAt).toISOString();
    const needsRestart = settings?.needsRestart() ?? [];
    return respond(firstHeader(inbound.headers, 'accept'), 'Statusz', {
      text: {
        Started: startTime,
        Up: describeDuration(uptimeSeconds),
        'Binary version': version,
        'Node.js version': nodeVersion,
        'Config hash': configHash,
        ...(needsRestart.length === 0
          ? {}
          : { 'Needs a restart': needsRestart.map(({ flag }) => flag).join(' ') }),
        Paths: paths.join(' '),
      },
      json: {
        startTime,
        uptimeSeconds,
        binaryVersion: version,
        nodeVersion,
        configHash,
        ...(needsRestart.length === 0 ? {} : { needsRestart }),
        paths,
      },
    });
  });
  app.get('/flagz', guard, ({ var: { inbound } }) => {
    const flags = flagsInUse(facts.flags, settings, localServerId?.());
    return respond(firstHeader(inbound.headers, 'accept'), 'Flagz', { text: flags, json: { flags } });
  });
  return app;
}

/** A server ID that was found at the start changes with the snapshot; one that was given stands as it was given. */
function flagsInUse(
  flags: ProcessFacts['flags'],
  settings: SettingsState | undefined,
  serverId: string | undefined,
): ProcessFacts['flags'] {
  const isFound = settings?.found().some(({ flag }) => flag === '--server-id') === true;
  return isFound && serverId !== undefined ? { ...flags, 'server-id': serverId } : flags;
}

type Kind = 'Statusz' | 'Flagz';

function respond(
  accept: string | undefined,
  kind: Kind,
  content: { readonly text: Readonly<Record<string, string>>; readonly json: object },
): Response {
  const chosen = negotiateMediaType(parseAccept(accept), formsOf(kind));
  if (chosen === undefined) {
    return statusResponse('NotAcceptable', notAcceptableMessage(['text/plain', 'application/json']));
  }
  const { mediaType, apiVersion } = chosen.offer;
  const body =
    mediaType === 'text/plain'
      ? textPage(kind, content.text)
      : `${JSON.stringify({ kind, apiVersion, metadata: { name: component }, ...content.json })}\n`;
  return new Response(body, {
    headers: {
      'content-type': mediaType === 'text/plain' ? 'text/plain; charset=utf-8' : mediaType,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
  });
}

function formsOf(kind: Kind) {
  const [newest, older] = ['v1beta1', 'v1alpha1'] as const;
  const json = (version: string, asked: boolean) => ({
    mediaType: 'application/json',
    apiVersion: `config.k8s.io/${version}`,
    ...(asked ? { conversion: { group: 'config.k8s.io', version, kind } } : {}),
  });
  return [
    { mediaType: 'text/plain', apiVersion: '' },
    json(newest, true),
    json(older, true),
    json(newest, false),
  ];
}

function textPage(kind: Kind, lines: Readonly<Record<string, string>>): string {
  const listed = Object.entries(lines).map(([name, value]) =>
    kind === 'Flagz' ? `${name}=${value}` : `${name}: ${value}`,
  );
  return `${component} ${kind.toLowerCase()}\n${notice}\n\n${listed.join('\n')}\n`;
}

function describeDuration(seconds: number): string {
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  return `${hours} h ${minutes} min ${seconds % 60} s`;
}
