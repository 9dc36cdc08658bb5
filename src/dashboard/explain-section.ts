import { html } from 'hono/html';
import type { Explanation, RequestToExplain } from '../proxy/explain.ts';
import type { Markup } from './wording/markup.ts';

export interface Explained {
  readonly request: RequestToExplain;
  readonly explanation: Explanation;
  /** As `explain` prints it: the answer is its first line. */
  readonly text: string;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A form that asks where a request would go: the page itself takes its fields. */
export function explainSection(explained: Explained | undefined): Markup {
  const { method = 'GET', url = '' } = explained?.request ?? {};
  return html`<section id="explain" class="card" aria-labelledby="explain-heading">
<h2 id="explain-heading">Explain a request</h2>
<form id="explain-form" method="get" action="./#explain">
<div class="field"><label for="explain-method">Method</label>
<select id="explain-method" name="method">${methods.map(
    (name) => html`<option${name === method ? html` selected` : ''}>${name}</option>`,
  )}</select></div>
<div class="field grow"><label for="explain-url">Path or URL</label>
<input id="explain-url" name="url" type="text" required value="${url}" placeholder="/apis/batch/v1/namespaces/default/cronjobs" aria-describedby="explain-hint" autocapitalize="off" autocomplete="off" spellcheck="false"></div>
<button type="submit">Explain</button>
</form>
<p id="explain-hint" class="muted">Nothing is sent anywhere: the same functions that route requests say where this one would go.</p>
${explanationMarkup(explained)}
</section>`;
}

/** The script asks for it again with every update: it depends on the snapshot and on the health of servers. */
export function explanationMarkup(explained: Explained | undefined): Markup {
  if (explained === undefined) return html`<div id="explanation"></div>`;
  const [answer, ...details] = explained.text.split('\n');
  return html`<div id="explanation">
<p role="status"><b>${answer}</b></p>
<pre>${details.join('\n').trim()}</pre>
</div>`;
}
