import type { AnswerStream, StreamAnswer } from './answer.ts';
import { ApiError, badRequest, expired } from './api-error.ts';
import type { JsonObject, KubernetesObject } from './kubernetes-object.ts';
import { validateListOptions } from './list-options.ts';
import { isTrue } from './request-target.ts';
import type { ResourceRequest } from './resource-request.ts';
import { type Predicate, selectorOf } from './selectors.ts';
import { decoded } from './storage-version.ts';
import { type StoredEvent, StoreError } from './store.ts';
import { inVersion } from './strategy.ts';
import { presentInEvent } from './table.ts';

/** How long a watch lasts that does not say it. Upstream draws a time between half an hour and an hour. */
const defaultTimeoutSeconds = 1800;
const initialEventsEnd = 'k8s.io/initial-events-end';

/**
 * Streams changes, one JSON object a line. From `resourceVersion`; without one, or from 0, after the present
 * state as ADDED events; with `sendInitialEvents` the end of those is marked by a bookmark (WatchList).
 * @throws {ApiError} BadRequest, Invalid
 */
export function watch(request: ResourceRequest): StreamAnswer {
  const { query, server, served } = request;
  const matches = selectorOf(query, served.storage);
  validateListOptions(server.version, query, true);
  const from = parseRevision(query.get('resourceVersion'));
  const sendInitialEvents = server.version.watchList && isTrue(query.get('sendInitialEvents'));
  // Asking for the form now makes a 406 of what would else break the stream.
  presentInEvent(request, { metadata: {} });
  return {
    kind: 'stream',
    code: 200,
    headers: { 'content-type': 'application/json' },
    start: (stream) => start(request, stream, { matches, from, sendInitialEvents }),
  };
}

interface WatchOptions {
  readonly matches: Predicate;
  /** 0: from the present state. */
  readonly from: number;
  readonly sendInitialEvents: boolean;
}

function start(request: ResourceRequest, stream: AnswerStream, options: WatchOptions): void {
  const { server, served, query, target } = request;
  const { store } = server;
  const { matches, from, sendInitialEvents } = options;
  const allowBookmarks = isTrue(query.get('allowWatchBookmarks'));
  const send = (type: string, object: JsonObject): void =>
    stream.write(`${JSON.stringify({ type, object })}\n`);
  const sendObject = (type: string, object: KubernetesObject): void =>
    send(type, presentInEvent(request, inVersion(served, decoded(server, object))));
  const sendBookmark = (annotations?: Readonly<Record<string, string>>): void => {
    if (!allowBookmarks) return;
    const resourceVersion = String(store.revision);
    sendObject('BOOKMARK', { metadata: { resourceVersion, ...(annotations && { annotations }) } });
  };
  const isInScope = ({ metadata }: KubernetesObject): boolean =>
    (target.namespace === '' || served.scope === 'Cluster' || metadata.namespace === target.namespace) &&
    // `GET …/watch/…/<name>` and the like: one object alone.
    (target.name === '' || metadata.name === target.name);
  const onEvent = (event: StoredEvent): void => {
    const type = isInScope(event.object) ? selectedType(event, matches) : undefined;
    if (type !== undefined) sendObject(type, event.object);
  };

  /** The answer has begun, so a failure is an event of the stream, and its last one. */
  const sendError = (error: unknown): void => {
    const failure = error instanceof StoreError ? expired(error.message) : error;
    if (!(failure instanceof ApiError)) throw failure;
    send('ERROR', failure.status);
  };

  try {
    if (from === 0 || sendInitialEvents) {
      for (const object of store.list(served.storage)) {
        if (isInScope(object) && matches(object)) sendObject('ADDED', object);
      }
      if (sendInitialEvents) sendBookmark({ [initialEventsEnd]: 'true' });
    } else store.eventsSince(served.storage, from).forEach(onEvent);
  } catch (error) {
    sendError(error);
    stream.end();
    return;
  }
  follow(request, stream, { onEvent, sendBookmark, sendError });
}

interface WatchEvents {
  /** @throws {ApiError} when the object cannot be decoded */
  readonly onEvent: (event: StoredEvent) => void;
  readonly sendBookmark: () => void;
  readonly sendError: (error: unknown) => void;
}

function follow(
  { server, served, query }: ResourceRequest,
  stream: AnswerStream,
  { onEvent, sendBookmark, sendError }: WatchEvents,
): void {
  const seconds = Number(query.get('timeoutSeconds') ?? defaultTimeoutSeconds) || defaultTimeoutSeconds;
  /** Nothing is written behind the end: that would break the answer off, whose end has not left yet. */
  const stop = (): void => {
    unsubscribe();
    stopListening();
    clearInterval(bookmarks);
    clearTimeout(timeout);
    server.stopping.removeEventListener('abort', end);
  };
  const end = (): void => {
    stop();
    stream.end();
  };
  const unsubscribe = server.store.subscribe(served.storage, (event) => {
    try {
      onEvent(event);
    } catch (error) {
      sendError(error);
      end();
    }
  });
  const bookmarks = setInterval(sendBookmark, server.bookmarkIntervalMilliseconds);
  const timeout = setTimeout(() => {
    sendBookmark();
    end();
  }, seconds * 1000);
  // A group version that is turned off takes its watches along, as the restart that does it for real.
  const stopListening = server.served.onChange(() => {
    if (server.served.find(served.group, served.version, served.resource) === undefined) end();
  });
  server.stopping.addEventListener('abort', end);
  stream.onClose(stop);
}

/** Type of a change for a watch with a selector: entering its view is ADDED, leaving it is DELETED. */
function selectedType(event: StoredEvent, matches: Predicate): StoredEvent['type'] | undefined {
  const after = event.type !== 'DELETED' && matches(event.object);
  const before = event.previous !== undefined && matches(event.previous);
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
}

function parseRevision(text: string | null): number {
  const revision = Number(text ?? '0');
  if (Number.isSafeInteger(revision) && revision >= 0) return revision;
  throw badRequest(`invalid resource version ${JSON.stringify(text)}: it is no number`);
}
