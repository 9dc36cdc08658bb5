import { morph } from './morph.ts';
import { elementOf, fetchPart, ResponseError } from './page-elements.ts';
import { updateTimes } from './times.ts';

/** Milliseconds between two updates, and at most between two attempts while there is no response. */
const interval = 2_000;
const longestPause = 30_000;
/** Milliseconds that one update may take. */
const timeout = 10_000;

/**
 * Keeps the page up to date: an update every two seconds while somebody can see it, ever longer pauses while the
 * router does not respond, none while the reader has paused it (WCAG 2.2, 2.2.2 Pause, Stop, Hide).
 */
export function keepUpToDate(): void {
  const toggle = elementOf('live-toggle', HTMLButtonElement);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let isPaused = false;
  let running: AbortController | undefined;

  const stop = (): void => {
    clearTimeout(timer);
    timer = undefined;
    running?.abort();
    running = undefined;
  };
  const start = (): void => {
    stop();
    if (!isPaused && !document.hidden) void update();
  };

  async function update(): Promise<void> {
    const attempt = new AbortController();
    running = attempt;
    try {
      await updatePage(AbortSignal.any([attempt.signal, AbortSignal.timeout(timeout)]));
      failures = 0;
      say('live', 'Live');
    } catch (error) {
      // Stopped, not failed.
      if (attempt.signal.aborted) return;
      failures += 1;
      say('lost', describeFailure(error));
    }
    if (attempt.signal.aborted) return;
    timer = setTimeout(update, Math.min(longestPause, interval * 2 ** Math.min(failures, 10)));
  }

  toggle.hidden = false;
  toggle.addEventListener('click', () => {
    isPaused = !isPaused;
    toggle.textContent = isPaused ? 'Resume updates' : 'Pause updates';
    if (isPaused) say('paused', 'Paused');
    start();
  });
  document.addEventListener('visibilitychange', start);
  addEventListener('online', start);
  say('live', 'Live');
  timer = setTimeout(start, interval);
}

async function updatePage(signal: AbortSignal): Promise<void> {
  const generation = elementOf('overview', HTMLElement).dataset['generation'] ?? '';
  const part = await fetchPart(`live?generation=${generation}`, signal);
  for (const id of ['overview', 'activity']) {
    const next = part.getElementById(id);
    if (next === null) throw new TypeError('the response is no part of this page: load it again');
    morph(elementOf(id, HTMLElement), next);
  }
  updateTimes();
}

function say(state: 'live' | 'lost' | 'paused', text: string): void {
  const element = elementOf('live-state', HTMLElement);
  if (element.dataset['state'] !== state) element.dataset['state'] = state;
  if (element.textContent !== text) element.textContent = text;
}

function describeFailure(error: unknown): string {
  if (!(error instanceof ResponseError)) return 'Not live: the router does not respond';
  return error.status === 401 || error.status === 403
    ? 'Not live: the router does not let you in any more'
    : `Not live: the router responds with ${error.status}`;
}
