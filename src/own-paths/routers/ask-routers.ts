import { firstHeader } from '../../apimachinery/raw-headers.ts';
import {
  type AskOptions,
  allInTime,
  askInCallersName,
  type CallersRequest,
  questionOf,
  type ServersResponse,
} from '../../proxy/ask-in-callers-name.ts';
import { localServerId, type MixedVersionProxyOptions } from '../../proxy/options.ts';
import { ownPathsPrefix } from '../../request/own-path-target.ts';
import type { Caller } from '../../request/user-info.ts';
import type { AdvertisedServer } from '../../snapshot/addresses/advertised-address.ts';
import type { RouterStatus } from '../status/router-status.ts';
import { parseStatusView } from '../status/status-view.ts';
import { agreementOf, differencesBetween } from './agreement.ts';
import { type OtherRouter, otherRouters } from './other-routers.ts';
import type { RouterOfServer, RoutersView } from './routers-view.ts';

export interface AskRoutersOptions
  extends AskOptions,
    Pick<MixedVersionProxyOptions, 'serverId' | 'local' | 'routingTable'> {
  readonly advertised?: (() => AdvertisedServer | undefined) | undefined;
}

/** Milliseconds for all routers. */
const timeout = 2_000;
/** Bytes of a status: a hundred servers, and all that could be said of each, have 200,000. */
const maximumBytes = 1024 * 1024;

/** Asks the routers of the other servers for their status. In the name of the caller: each router decides whom it tells. */
export async function askRouters(
  request: CallersRequest,
  caller: Caller,
  status: RouterStatus,
  options: AskRoutersOptions,
): Promise<RoutersView> {
  const { routingTable } = options;
  const serverId = localServerId(options);
  const own = options.advertised?.()?.address;
  const others = otherRouters(routingTable.current(), serverId, own);
  const addressed = others.filter(hasAddress);
  const asked = await allInTime(
    addressed.map((other) => ({
      run: (signal: AbortSignal) =>
        askRouter(request, caller, other, signal, options).catch(() =>
          notTold(other, 'broke off its response'),
        ),
      late: notTold(other, `has not responded within ${timeout / 1000} seconds`),
    })),
    { timeout, signal: request.inbound.signal },
  );
  // Where it does not know its address, that by which the caller has found it.
  const address = own ?? firstHeader(request.inbound.headers, 'host');
  const routers: readonly RouterOfServer[] = [
    {
      server: address === undefined ? 'this router' : `https://${address}`,
      serverId: serverId ?? null,
      error: null,
      status,
    },
    ...asked,
  ];
  const differences = differencesBetween(routers);
  const notAsked = others.filter(({ origin }) => origin === undefined).map(({ server }) => server.id);
  return { agree: agreementOf(routers, differences, notAsked), differences, notAsked, routers };
}

type AddressedRouter = OtherRouter & { readonly origin: string };

function hasAddress(other: OtherRouter): other is AddressedRouter {
  return other.origin !== undefined;
}

async function askRouter(
  { inbound, requestInfo }: CallersRequest,
  caller: Caller,
  other: AddressedRouter,
  signal: AbortSignal,
  options: AskRoutersOptions,
): Promise<RouterOfServer> {
  const { server, origin } = other;
  const target = `${ownPathsPrefix}/v1/status`;
  // Under an ID of its own: what becomes of the router says nothing of the health of its API server. Assertions are
  // addressed to routers by the IDs of their servers.
  const candidate = { ...server, id: `router of ${server.id}`, audience: server.id, origin };
  const response = await askInCallersName(
    {
      inbound: questionOf(inbound, { target, accept: 'application/json', signal }),
      requestInfo,
      caller,
      decision: { decision: 'peer', reason: 'NotAResourceRequest', candidates: [candidate] },
    },
    maximumBytes,
    options,
  );
  const status =
    response.isServers && response.status === 200 ? parseStatusView(response.text ?? '') : undefined;
  if (status === undefined) return notTold(other, reasonOf(response));
  if (status.serverId !== server.id) {
    const whose = status.serverId === null ? 'a gateway' : `the router of ${status.serverId}`;
    return notTold(other, `is ${whose}`);
  }
  return { server: origin, serverId: server.id, error: null, status };
}

function notTold({ server, origin }: AddressedRouter, error: string): RouterOfServer {
  return { server: origin, serverId: server.id, error: `${origin} ${error}`, status: null };
}

const advice: Readonly<Partial<Record<number, string>>> = {
  200: 'is no router',
  401: "returned 401: it does not take this router's word for who asks (--requestheader-client-ca-file and --requestheader-allowed-names, or --assertion-keys)",
  403: 'returned 403: it is no router, or one that has the caller neither in --allowed-users nor in --allowed-groups',
  404: 'returned 404: it is an API server, and no router',
};

/** What this router responds in its place. */
const notSent: Readonly<Partial<Record<number, string>>> = {
  401: 'cannot be told who asks: this gateway has no front-proxy certificate (--proxy-client-cert-file)',
  413: 'cannot be told who asks: the groups of the caller do not fit into an assertion',
  429: 'has not been asked: this router has too many requests in flight, or is shutting down',
};

function reasonOf({ isServers, status, text }: ServersResponse): string {
  if (!isServers) return notSent[status] ?? 'cannot be reached from the router that was asked';
  if (text === undefined) return 'sent more than a status of a router has (1 MiB)';
  return advice[status] ?? `returned ${status}: see its log`;
}
