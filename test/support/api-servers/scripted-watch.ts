import type {
  ServerDocument,
  WatchConnection,
  WatchResponse,
} from '../../../src/sync/documents/server-documents.ts';
import { jsonDocument } from './fake-server-documents.ts';

/** A watch that was opened, and what to do with it. */
interface OpenWatch {
  readonly query: URLSearchParams;
  /** True if the one who watches has given it up. */
  readonly isGivenUp: () => boolean;
  send(...events: readonly object[]): void;
  sendText(text: string): void;
  end(): void;
  breakOff(): void;
}

interface ScriptedWatch extends WatchConnection {
  /** Path and query of every list. */
  readonly lists: string[];
  readonly watches: OpenWatch[];
  /** The response to lists; may be changed between them. */
  list: (path: string) => ServerDocument | Promise<ServerDocument>;
  /** Code of the next watches. */
  watchStatus: number;
  /** While true, whoever wants to watch hears nothing. */
  hangs: boolean;
}

/** An API server whose responses the test decides. It ignores signals. */
export function scriptedWatch(): ScriptedWatch {
  const script: ScriptedWatch = {
    lists: [],
    watches: [],
    watchStatus: 200,
    hangs: false,
    list: () => listResponse([]),
    async get(path) {
      script.lists.push(path);
      return script.list(path);
    },
    watch(path, signal) {
      const queue: (string | Error | undefined)[] = [];
      let wake = () => {};
      const put = (item: string | Error | undefined) => {
        queue.push(item);
        wake();
      };
      script.watches.push({
        query: new URLSearchParams(path.split('?')[1]),
        isGivenUp: () => signal.aborted,
        send: (...events) => put(events.map((event) => `${JSON.stringify(event)}\n`).join('')),
        sendText: put,
        end: () => put(undefined),
        breakOff: () => put(new Error('the connection broke off')),
      });
      if (script.hangs) return new Promise<never>(() => {});
      async function* chunks(): AsyncGenerator<string> {
        for (;;) {
          while (queue.length === 0) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
          const item = queue.shift();
          if (item === undefined) return;
          if (item instanceof Error) throw item;
          yield item;
        }
      }
      const response: WatchResponse = { status: script.watchStatus, chunks: chunks() };
      return Promise.resolve(response);
    },
  };
  return script;
}

export function thing(name: string, resourceVersion: string, rest: object = {}): object {
  return { metadata: { name, resourceVersion }, ...rest };
}

export function listResponse(items: readonly object[], resourceVersion = '10'): ServerDocument {
  return jsonDocument({ kind: 'ThingList', metadata: { resourceVersion }, items });
}
