import type { Http2Session, Http2Stream } from 'node:http2';
import { SlotMap } from './slot-map.ts';
import { SlotSet } from './slot-set.ts';

/** What Node keeps of a session's streams (lib/internal/http2/core.js), as far as it concerns us. */
interface SessionState {
  streams: Map<number, Http2Stream>;
  pendingStreams: Set<Http2Stream>;
}

/**
 * Gives a session of node:http2 tables for its streams that leave no chain of garbage behind (`SlotMap` says which).
 * They lie under a symbol of Node's own; where another release has none such, or streams in it already, everything
 * stays as it is, and only slower.
 *
 * @returns whether they were replaced.
 */
export function replaceStreamTables(session: Http2Session): boolean {
  const symbol = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'state');
  const state: unknown = symbol && Reflect.get(session, symbol);
  if (!isSessionState(state) || state.streams.size > 0 || state.pendingStreams.size > 0) return false;
  state.streams = new SlotMap();
  state.pendingStreams = new SlotSet();
  return true;
}

function isSessionState(state: unknown): state is SessionState {
  if (typeof state !== 'object' || state === null) return false;
  if (!('streams' in state) || !('pendingStreams' in state)) return false;
  return isTable(state.streams, 'get') && isTable(state.pendingStreams, 'add');
}

/** Node's own are no instances of `Map` and `Set`: it keeps them from being tampered with. */
function isTable(table: unknown, method: 'get' | 'add'): boolean {
  if (typeof table !== 'object' || table === null || !('size' in table)) return false;
  return typeof table.size === 'number' && typeof Reflect.get(table, method) === 'function';
}
