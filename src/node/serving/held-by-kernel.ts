import { fstatSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Account, type Holding, resetConnection } from '../../../packages/http2/shared.ts';

/** Milliseconds between two looks at the kernel's tables. */
const lookEvery = 1_000;
/** Bytes of a connection that are not counted: they are in what limits the number of connections. */
const uncounted = 128 * 1024;
/** Sockets of this network namespace, with what waits in their two queues (Linux, proc_pid_net(5)). */
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
/** tx_queue, rx_queue and inode of a socket: bytes in hexadecimal, and a decimal number. */
const queues = /^ *\d+: \S+ \S+ \S\S (?!0{8}:0{8})(\w{8}):(\w{8}) \S+ \S+ +\d+ +\d+ (\d+) .*$/gm;

/** Bytes that wait in the kernel, by the inode of their socket; sockets for which nothing waits are left out. */
export function queuedBytes(table: string, into: Map<number, number>): void {
  for (const [, sent = '', received = '', inode] of table.matchAll(queues)) {
    into.set(Number(inode), Number.parseInt(sent, 16) + Number.parseInt(received, 16));
  }
}

/** Bytes of one read: the kernel gives a page at a time, whatever is asked for. */
const pieceLength = 16 * 1024;

/** In pieces: where the router shares the network of its node, there are tens of thousands of lines. */
async function readTable(file: FileHandle, piece: Buffer, into: Map<number, number>): Promise<void> {
  let rest = '';
  for (;;) {
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return;
    const text = rest + piece.toString('latin1', 0, bytesRead);
    const end = text.lastIndexOf('\n') + 1;
    queuedBytes(text.slice(0, end), into);
    rest = text.slice(end);
  }
}

async function readTables(): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  const piece = Buffer.allocUnsafe(pieceLength);
  for (const table of tables) {
    let file: FileHandle | undefined;
    try {
      file = await open(table);
      await readTable(file, piece, found);
    } catch {
      // No Linux, or no IPv6: what is not told is not counted.
    } finally {
      await file?.close();
    }
  }
  return found;
}

/** Node keeps the handle on the socket; its types leave it out. */
type HandledSocket = Socket & { readonly _handle?: { readonly fd?: number } | null };

/** One connection, with what the kernel was last seen to hold for it. */
export class Followed {
  readonly socket: HandledSocket;
  readonly #account: () => Account;
  #inode: number | undefined;
  #held: Holding | undefined;
  /** Bytes both ways, at the last look and when nothing was seen to wait. */
  #passed = 0;
  #emptyAt = 0;

  constructor(socket: HandledSocket, account: () => Account) {
    this.socket = socket;
    this.#account = account;
  }

  /** False: too little has passed since nothing waited. */
  get mayHold(): boolean {
    return this.#bytes() - this.#emptyAt > uncounted;
  }

  #bytes(): number {
    return this.socket.bytesRead + this.socket.bytesWritten;
  }

  /**
   * A queue that moves is not counted: its connection is not cut for bytes that are on their way.
   * @param found bytes that wait, by the inode of their socket
   */
  look(found: ReadonlyMap<number, number>): void {
    const before = this.#passed;
    this.#passed = this.#bytes();
    this.#inode ??= this.#inodeOf();
    const queued = (this.#inode === undefined ? undefined : found.get(this.#inode)) ?? 0;
    if (queued === 0) this.#emptyAt = this.#passed;
    const bytes = this.#passed === before && queued > uncounted ? queued : 0;
    if (bytes > 0) this.#held ??= this.#account().still({ giveUp: () => resetConnection(this.socket) });
    this.#held?.set(bytes);
  }

  #inodeOf(): number | undefined {
    const fd = this.socket._handle?.fd ?? -1;
    return this.socket.destroyed || fd < 0 ? undefined : fstatSync(fd).ino;
  }

  end(): void {
    this.#held?.end();
  }
}

/**
 * Counts what the kernel holds for clients that do not read, and for tunnels: up to 4 MiB for a socket by its defaults
 * (tcp(7), tcp_wmem), which is memory of the router's cgroup. Node sets no size for the buffers of a TCP socket, and tells
 * nothing of them, so the kernel's own tables are read.
 */
export class HeldByKernel {
  readonly #followed = new Set<Followed>();
  #timer: NodeJS.Timeout | undefined;

  /** @param account for the connection; made only where there is something to count */
  follow(socket: Duplex, account: () => Account): void {
    const followed = new Followed(socket as HandledSocket, account);
    this.#followed.add(followed);
    socket.once('close', () => {
      followed.end();
      this.#followed.delete(followed);
    });
    this.#timer ??= setTimeout(() => this.#look(), lookEvery).unref();
  }

  async #look(): Promise<void> {
    // At rest nothing is read: the tables are long on a node with many connections.
    if ([...this.#followed].some(({ mayHold }) => mayHold)) {
      const found = await readTables();
      for (const followed of this.#followed) followed.look(found);
    }
    this.#timer = this.#followed.size === 0 ? undefined : setTimeout(() => this.#look(), lookEvery).unref();
  }
}
