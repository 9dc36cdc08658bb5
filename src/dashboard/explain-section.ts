import { html } from 'hono/html';
import type { ExplainedCandidate, Explanation, RequestToExplain } from '../proxy/explain.ts';
import type { DecisionStep } from '../routing/decision.ts';
import type { PageState } from './page-state.ts';
import { chosenText, outcomeOf } from './wording/decision-text.ts';
import { displayName, type Hostnames, withDisplayNames } from './wording/display-names.ts';
import { badge, type Markup, timeOfDay } from './wording/markup.ts';

export interface Explained {
  readonly request: Pick<RequestToExplain, 'method' | 'url'>;
  readonly explanation: Explanation;
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** A form that asks where a request would go. It works without a script: the page itself takes its fields. */
export function explainSection(
  explained: Explained | undefined,
  state: PageState,
  hostnames: Hostnames,
): Markup {
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
${explanationFragment(explained, state, hostnames)}
</section>`;
}

/** It says which request it is about: the script asks again with every update. */
export function explanationFragment(
  explained: Explained | undefined,
  state: PageState,
  hostnames: Hostnames,
): Markup {
  if (explained === undefined) {
    return html`<div id="explanation"><p id="explanation-outcome" role="status"></p></div>`;
  }
  const { request, explanation } = explained;
  return html`<div id="explanation" data-method="${request.method}" data-url="${request.url}">
<p id="explanation-outcome" role="status">${outcome(explanation, state, hostnames)}</p>
<p class="muted">${request.method} <span class="name">${request.url}</span>, ${state.status.snapshot === null ? 'without a snapshot' : html`by the snapshot of ${timeOfDay(Date.parse(state.status.snapshot.createdAt))}`}</p>
${details(explanation, hostnames)}
</div>`;
}

function outcome(explanation: Explanation, { status }: PageState, hostnames: Hostnames): Markup {
  const { requestInfo, reason } = explanation;
  const groupVersion = `${requestInfo?.apiGroup}/${requestInfo?.apiVersion}`;
  const extension = status.snapshot?.extensionApis.find((each) => each.groupVersion === groupVersion);
  const { kind, text, detail } = outcomeOf(explanation, {
    localServerId: status.serverId,
    localServerIsDown: status.localServer?.status === 'unhealthy',
    extensionIsUnavailable: extension?.available === false,
  });
  const chosen = chosenText(explanation, (id) => displayName(id, hostnames), status.serverId);
  return html`${badge(kind, text)} <b>${reason}</b> <span>${detail}${chosen === '' ? '' : ` ${chosen}`}</span>`;
}

function details(
  { requestInfo, trace, candidates, otherVersions = [], notes }: Explanation,
  hostnames: Hostnames,
): Markup {
  return html`<div class="explanation">
${trace.length === 0 ? '' : rules(trace, hostnames)}
<div>${candidates.length === 0 ? '' : candidateTable('Candidates', candidates, hostnames)}
${otherVersions.length === 0 ? '' : candidateTable('Asked when none of them is healthy', otherVersions, hostnames)}
${notes.length === 0 ? '' : html`<h3>Notes</h3><ul>${notes.map((note) => html`<li>${withDisplayNames(note, hostnames)}</li>`)}</ul>`}
${requestInfo === null ? '' : requestFields(requestInfo)}</div>
</div>`;
}

function rules(trace: readonly DecisionStep[], hostnames: Hostnames): Markup {
  return html`<div><h3>Rules, the first match wins</h3>
<ol class="rules">${trace.map(
    ({ rule, matched, detail }) => html`<li class="${matched ? 'matched' : 'passed'}">
<span class="rule-number" aria-hidden="true">${rule.slice(0, rule.indexOf(' '))}</span>
<span><b>${rule.slice(rule.indexOf(' ') + 1)}</b> ${matched ? badge('good', 'Match') : html`<span class="tag">no</span>`}
<span class="detail">${withDisplayNames(detail, hostnames)}</span></span></li>`,
  )}</ol></div>`;
}

function candidateTable(
  heading: string,
  candidates: readonly ExplainedCandidate[],
  hostnames: Hostnames,
): Markup {
  return html`<h3>${heading}</h3>
<table>
<caption class="visually-hidden">${heading}: servers that the request could be sent to</caption>
<thead><tr><th scope="col">Server</th><th scope="col">Health</th></tr></thead>
<tbody>${candidates.map(
    ({ id, address, serverName, health }) => html`<tr>
<th scope="row"><span class="name">${displayName(id, hostnames)}</span>${hostnames.has(id) ? html`<span class="detail name">${id}</span>` : ''}
<span class="detail">${address}, as <span class="name">${serverName}</span></span></th>
<td>${health === 'healthy' ? badge('good', 'Healthy') : health === 'unhealthy' ? badge('bad', 'Unhealthy') : badge('neutral', 'Not known')}</td>
</tr>`,
  )}</tbody>
</table>`;
}

function requestFields(requestInfo: NonNullable<Explanation['requestInfo']>): Markup {
  const fields = Object.entries(requestInfo).flatMap(([name, value]): [string, string][] => {
    const text = Array.isArray(value) ? value.join(', ') : String(value);
    return text === '' ? [] : [[name, text]];
  });
  return html`<h3>Request info</h3>
<dl class="request-info">${fields.map(
    ([name, text]) => html`<div><dt>${name}</dt><dd class="name">${text}</dd></div>`,
  )}</dl>`;
}
