import type { Duplex } from 'node:stream';
import { ApiError, badRequest } from '../api-error.ts';
import { containerOf } from '../pod-log.ts';
import { isTrue } from '../request-target.ts';
import type { ResourceRequest } from '../resource-request.ts';
import { watch } from '../watch.ts';
import { existing } from '../writes.ts';
import { runPortForward, runRemoteCommand } from './channels.ts';
import { watchEventStream } from './watch-events.ts';
import { acceptKey } from './websocket.ts';

export interface UpgradeHeaders {
  readonly upgrade: string | undefined;
  readonly origin: string | undefined;
  readonly webSocketKey: string | undefined;
  readonly webSocketProtocol: string | undefined;
}

/** A stream that is agreed on: the answer to send, and what happens on the connection after it. */
export interface AgreedUpgrade {
  readonly head: string;
  readonly start: (socket: Duplex, head: Buffer) => void;
}

const remoteCommandProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const portForwardProtocols = ['v4.channel.k8s.io', 'portforward.k8s.io'];

/**
 * Agrees on a watch or a stream to a pod. Only over WebSocket: SPDY, which kubectl speaks up to 1.29 and for port-forward
 * tunnels through a WebSocket, is not spoken here.
 * @throws {ApiError} BadRequest, NotFound, and those of a watch
 */
export function agreeOnUpgrade(request: ResourceRequest, headers: UpgradeHeaders): AgreedUpgrade {
  const { subresource, verb } = request.target;
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    const advice =
      subresource === 'portforward'
        ? 'kubectl port-forward does not work here: it speaks SPDY in every version'
        : 'use kubectl 1.30 or later';
    throw badRequest(
      `unable to upgrade: this example server streams over WebSocket only, not ${headers.upgrade}; ${advice}`,
    );
  }
  if (verb === 'watch') return agreeOnWatch(request, headers);
  const offered = offeredProtocols(headers);
  const known = subresource === 'portforward' ? portForwardProtocols : remoteCommandProtocols;
  const protocol = known.find((candidate) => offered.includes(candidate));
  if (protocol === undefined || headers.webSocketKey === undefined) {
    throw badRequest(
      `unable to upgrade: none of ${offered.join(', ')} is spoken here, only ${known.join(', ')}`,
    );
  }
  const start = streamOf(request);
  return { head: switchingHead(headers.webSocketKey, protocol), start };
}

/** Refuses what golang.org/x/net/websocket refuses, which takes whatever protocol a client names, but only one. */
function agreeOnWatch(request: ResourceRequest, headers: UpgradeHeaders): AgreedUpgrade {
  const { start } = watch(request);
  const { origin, webSocketKey } = headers;
  const [protocol, ...others] = offeredProtocols(headers);
  if (origin === undefined) {
    throw new ApiError('Forbidden', 'unable to upgrade: a watch by WebSocket needs the header Origin', {});
  }
  if (webSocketKey === undefined || others.length > 0) {
    throw badRequest('unable to upgrade: a watch by WebSocket takes a key and one protocol at most');
  }
  return {
    head: switchingHead(webSocketKey, protocol),
    start: (socket, head) => start(watchEventStream(socket, head)),
  };
}

function offeredProtocols({ webSocketProtocol = '' }: UpgradeHeaders): string[] {
  return webSocketProtocol.split(',').flatMap((protocol) => protocol.trim() || []);
}

function switchingHead(key: string, protocol: string | undefined): string {
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptKey(key)}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function streamOf(request: ResourceRequest): AgreedUpgrade['start'] {
  const { target, query, user, server } = request;
  const pod = existing(request);
  if (target.subresource === 'portforward') {
    const ports = query.getAll('ports').flatMap((list) => list.split(',').map(Number));
    const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65_536;
    if (ports.length === 0 || !ports.every(isPort)) throw badRequest('query parameter "ports" is required');
    return (socket, head) => runPortForward(socket, head, ports);
  }
  if (target.subresource !== 'exec' && target.subresource !== 'attach') {
    throw badRequest(`${target.subresource} is no stream`);
  }
  const container = containerOf(request, pod);
  const command = query.getAll('command').map((word) => JSON.stringify(word));
  const greeting = [
    `user: ${user.name}`,
    `groups: ${user.groups.join(', ')}`,
    `server: ${server.name}`,
    `container: ${target.namespace}/${target.name}/${container}`,
    `command: ${command.join(' ')}`,
    '',
  ].join('\n');
  const hasStdin = isTrue(query.get('stdin'));
  return (socket, head) => runRemoteCommand(socket, head, { greeting, hasStdin });
}
