import type { Socket } from 'node:net';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import { type Cidr, contains, parseCidr, parseIpAddress } from '../../snapshot/addresses/ip-address.ts';
import { type ClientAddress, type ProxyHeaderIssue, readProxyHeader } from './read-proxy-header.ts';

/** `timeout`: the header did not come in time. `closed`: the connection ended within it. */
export type ProxyHeaderRefusal = ProxyHeaderIssue | 'timeout' | 'closed';

export interface BalancedConnectionsOptions {
  /** Addresses of load balancers, as CIDR blocks. */
  readonly cidrs: readonly string[];
  /** Milliseconds for the header. */
  readonly timeout: number;
  readonly onRefused: (refusal: ProxyHeaderRefusal) => void;
  readonly logger: Logger;
}

/**
 * The connections of load balancers that send the PROXY protocol. Only theirs are read for a header, and theirs must
 * have one: else a client could say which address it has, or a balancer's own would pass for that of its clients.
 */
export class BalancedConnections {
  #blocks: readonly Cidr[];
  readonly #options: BalancedConnectionsOptions;
  readonly #failures: FailureLog;
  readonly #clients = new WeakMap<Socket, ClientAddress>();

  constructor(options: BalancedConnectionsOptions) {
    this.#options = options;
    this.#blocks = blocksOf(options.cidrs);
    this.#failures = new FailureLog({ logger: options.logger, clock: () => performance.now() });
  }

  /** For new connections. */
  setCidrs(cidrs: readonly string[]): void {
    this.#blocks = blocksOf(cidrs);
  }

  /** Hands a new connection on: at once, or after its header. */
  receive(socket: Socket, handOn: () => void): void {
    if (!this.#isBalancer(socket)) {
      handOn();
      return;
    }
    let bytes: Buffer = Buffer.alloc(0);
    const stop = (): void => {
      clearTimeout(deadline);
      socket.off('readable', read).off('end', ended).off('close', stop).off('error', ignored);
    };
    const refuse = (refusal: ProxyHeaderRefusal): void => {
      stop();
      this.#refuse(socket, refusal);
    };
    const deadline = setTimeout(() => refuse('timeout'), this.#options.timeout);
    const read = (): void => {
      const chunk: Buffer | null = socket.read();
      if (chunk === null) return;
      bytes = Buffer.concat([bytes, chunk]);
      const reading = readProxyHeader(bytes);
      if (reading.kind === 'partial') return;
      if (reading.kind === 'issue') {
        refuse(reading.issue);
        return;
      }
      stop();
      if (reading.client !== undefined) this.#clients.set(socket, reading.client);
      if (bytes.length > reading.length) socket.unshift(bytes.subarray(reading.length));
      handOn();
    };
    const ended = (): void => {
      if (bytes.length > 0) {
        refuse('closed');
        return;
      }
      // A health check that only connects.
      stop();
      socket.destroy();
    };
    socket.on('readable', read).on('end', ended).on('close', stop).on('error', ignored);
  }

  /**
   * Makes the client's address that of the connection over TLS, for all who ask it: logs, limits, `X-Forwarded-For`.
   * @param below the TCP connection
   */
  nameClient(socket: Socket, below: Socket | undefined): void {
    const client = below === undefined ? undefined : this.#clients.get(below);
    if (client === undefined) return;
    Object.defineProperties(socket, {
      remoteAddress: { value: client.address },
      remotePort: { value: client.port },
    });
  }

  #isBalancer({ remoteAddress }: Socket): boolean {
    // Where IPv6 is listened on, addresses of IPv4 come as IPv6.
    const address = parseIpAddress(remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '') ?? '');
    return address !== undefined && this.#blocks.some((block) => contains(block, address));
  }

  #refuse(socket: Socket, refusal: ProxyHeaderRefusal): void {
    const { remoteAddress } = socket;
    socket.on('error', ignored);
    socket.destroy();
    this.#options.onRefused(refusal);
    this.#failures.warn(
      `${refusal} ${remoteAddress}`,
      { remoteAddress, reason: refusal },
      refusal === 'no_header'
        ? 'A connection from --proxy-protocol-cidrs began without a PROXY header: have the load balancer send it (HAProxy: send-proxy-v2, check-send-proxy), or take the address out'
        : 'A connection from --proxy-protocol-cidrs was refused for its PROXY header',
    );
  }
}

function ignored(): void {}

function blocksOf(cidrs: readonly string[]): readonly Cidr[] {
  return cidrs.flatMap((text) => parseCidr(text) ?? []);
}
