/**
 * The state of one request and its response on a stream (RFC 9113 section 5.1). *Local* is what we send, *remote* what the
 * peer sends. Before a stream is closed, the end of what we send may wait for the peer to take the rest: *ending*.
 */
export type StreamState =
  /** The request is not written yet. */
  | 'idle'
  | 'open'
  | 'open, ending'
  /** We have sent END_STREAM. */
  | 'half-closed (local)'
  /** The peer has sent END_STREAM. */
  | 'half-closed (remote)'
  | 'half-closed (remote), ending'
  /** The response was sent, or received, to its end. */
  | 'closed'
  /** Ended before: by RST_STREAM of either side, or with its connection. */
  | 'reset';

export type StreamEvent =
  | 'HEADERS sent'
  /** There will be no more of the message that we send. */
  | 'message whole'
  | 'END_STREAM sent'
  /** END_STREAM was received, or RST_STREAM: nothing more of the peer's message will come. */
  | 'message received'
  /** The response is complete, and of the request nobody needs the rest (RFC 9113 section 8.1). */
  | 'rest given up'
  | 'reset';

const transitions: Readonly<Record<StreamState, Partial<Readonly<Record<StreamEvent, StreamState>>>>> = {
  idle: { 'HEADERS sent': 'open', reset: 'reset' },
  open: {
    'message whole': 'open, ending',
    'END_STREAM sent': 'half-closed (local)',
    'message received': 'half-closed (remote)',
    reset: 'reset',
  },
  'open, ending': {
    'END_STREAM sent': 'half-closed (local)',
    'message received': 'half-closed (remote), ending',
    reset: 'reset',
  },
  'half-closed (local)': { 'message received': 'closed', 'rest given up': 'closed', reset: 'reset' },
  'half-closed (remote)': {
    'message whole': 'half-closed (remote), ending',
    'END_STREAM sent': 'closed',
    'rest given up': 'closed',
    reset: 'reset',
  },
  'half-closed (remote), ending': { 'END_STREAM sent': 'closed', 'rest given up': 'closed', reset: 'reset' },
  closed: {},
  reset: {},
};

/** @returns the state after an event; the same where the event changes nothing in this state. Pure. */
export function nextState(state: StreamState, event: StreamEvent): StreamState {
  return transitions[state][event] ?? state;
}

export function isClosed(state: StreamState): boolean {
  return state === 'closed' || state === 'reset';
}

/** @returns whether the peer may still send of its message */
export function isReceiving(state: StreamState): boolean {
  return state === 'open' || state === 'half-closed (local)' || state === 'open, ending';
}

/** @returns whether more may be added to the message that we send */
export function takesMore(state: StreamState): boolean {
  return state === 'open' || state === 'half-closed (remote)';
}

/** @returns whether the message that we send is whole, and its end is not sent yet */
export function isEnding(state: StreamState): boolean {
  return state === 'half-closed (remote), ending' || state === 'open, ending';
}
