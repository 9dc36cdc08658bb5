import { keepUpToDate } from './live.ts';
import { morph } from './morph.ts';
import { elementOf, fetchPart } from './page-elements.ts';
import { tellTimes } from './times.ts';

tellTimes();
keepUpToDate();
explainWithoutReload();

/** Handles the form in its place, as submitting it would on a page of its own. */
function explainWithoutReload(): void {
  const form = elementOf('explain-form', HTMLFormElement);
  let running: AbortController | undefined;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    running?.abort();
    running = new AbortController();
    void explain(form, running.signal);
  });
}

async function explain(form: HTMLFormElement, signal: AbortSignal): Promise<void> {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === 'string') query.set(name, value);
  }
  try {
    const next = (await fetchPart(`explanation?${query}`, signal)).getElementById('explanation');
    if (next === null) throw new TypeError('the response is no explanation');
    morph(elementOf('explanation', HTMLElement), next);
    // The address can be passed on: it shows the same again.
    history.replaceState(null, '', `?${query}#explain`);
  } catch {
    if (signal.aborted) return;
    // The page itself says what is the matter.
    form.submit();
  }
}
